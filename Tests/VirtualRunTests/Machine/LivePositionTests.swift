import Bus
import ServiceKit
import TestSupport
import Testing

@testable import VirtualRun
@testable import Workouts

@Suite struct LivePositionTests {
    private let home = Coordinate(latitude: 47.37, longitude: 8.54)

    /// A place some metres east of home.
    private func place(_ meters: Double) -> Coordinate {
        Coordinate(
            latitude: home.latitude,
            longitude: home.longitude + meters / (Coordinate.degree * Coordinate.shrinkage(latitude: home.latitude)))
    }

    /// Both run east from home at 4 m/s.
    private func run(_ fixture: inout LiveFixture, _ seconds: Int, _ names: [String] = ["ann", "ben"]) {
        for _ in 0..<seconds {
            fixture.pass(1)
            let meters = fixture.seconds * 4
            for name in names { fixture.metrics(name, meters) { $0.position = place(meters) } }
        }
    }

    @Test func `positions go to the others once the runner is away from home`() throws {
        var fixture = LiveFixture()
        run(&fixture, 45)
        #expect(fixture.positions("ann").isEmpty)
        run(&fixture, 100)
        let last = try #require(fixture.positions("ann").last)
        #expect(last.x.map(\.u) == [User("ben")!])
        let shown = Coordinate(latitude: last.x[0].la, longitude: last.x[0].lo)
        #expect(shown.distance(to: place(580)) < 12)
        let nearest = fixture.positions("ann").flatMap(\.x).map {
            Coordinate(latitude: $0.la, longitude: $0.lo).distance(to: home)
        }.min()
        #expect(nearest.map { $0 >= 200 } == true)
        // `partners` hold no position.
        let text = String(decoding: fixture.partners("ann").last!.message.payload, as: UTF8.self)
        #expect(!text.contains("\"la\"") && !text.contains("\"lo\""))
    }

    @Test func `a position without leave, of a blocked, a paused-away or a finished runner is not sent`() {
        for change in 0..<4 {
            var fixture = LiveFixture()
            run(&fixture, 150)
            #expect(fixture.positions("ann").last?.x.isEmpty == false)
            switch change {
            case 0: fixture.change("ben") { $0.sharing.position = false }
            case 1: fixture.change("ann") { $0.blocked = [User("ben")!] }
            case 2: fixture.change("ben") { $0.status = .finished }
            default: fixture.change("ben") { $0.sharing.hideNear = 1_600 }
            }
            fixture.pass(0.3)
            #expect(fixture.positions("ann").last?.x.isEmpty == true)
            let count = fixture.positions("ann").count
            run(&fixture, 30)
            #expect(fixture.positions("ann").count == count)
            // Blocking is for both.
            if change == 1 { #expect(fixture.positions("ben").last?.x.isEmpty == true) }
        }
    }

    @Test func `who left gets no positions, and none are sent when the run is over`() {
        var fixture = LiveFixture(["ann", "ben", "cat"])
        run(&fixture, 150, ["ann", "ben", "cat"])
        fixture.change("ann") { $0.status = .left }
        fixture.outputs = []
        run(&fixture, 10, ["ann", "ben", "cat"])
        #expect(fixture.positions("ann").isEmpty)
        #expect(fixture.positions("ben").last?.x.map(\.u) == [User("cat")!])
        fixture.update { $0.status = .finished }
        fixture.outputs = []
        run(&fixture, 10, ["ann", "ben", "cat"])
        fixture.live.connect(now: fixture.now)
        fixture.flush()
        #expect(fixture.positions("ben").isEmpty)
        // First positions are kept no longer than needed.
        #expect(fixture.live.stored.runners.allSatisfy { $0.start == nil })
    }

    @Test func `home stays hidden over a restart, and when the service begins in the middle of the run`() throws {
        var fixture = LiveFixture()
        run(&fixture, 60)
        try fixture.restart()
        #expect(fixture.live.stored.runners.allSatisfy { $0.start != nil })
        fixture.outputs = []
        // Ben runs back home.
        for step in 0..<60 {
            fixture.pass(1)
            fixture.metrics("ben", 240 + Double(step) * 4) { $0.position = place(240 - Double(step) * 4) }
        }
        let places = fixture.positions("ann").flatMap(\.x).map { Coordinate(latitude: $0.la, longitude: $0.lo) }
        #expect(places.allSatisfy { $0.distance(to: home) >= 200 })

        var late = LiveFixture()
        for step in 0..<500 {
            late.pass(1)
            // The first position comes after 2 km, and the way leads back home.
            let way = 2_000 + Double(step) * 4
            late.metrics("ben", way) { $0.position = place(2_000 - Double(step) * 4) }
        }
        let shown = late.positions("ann").flatMap(\.x).map { Coordinate(latitude: $0.la, longitude: $0.lo) }
        #expect(shown.allSatisfy { $0.distance(to: home) >= 200 })
    }

    @Test func `without hiding every position shows`() {
        var sharing = Sharing.all
        sharing.hideNear = 0
        var fixture = LiveFixture(sharing: sharing)
        run(&fixture, 4)
        #expect(fixture.positions("ann").isEmpty == false)
    }

    @Test func `without leave no heart rate and no energy shows, and none between the blocked`() throws {
        var fixture = LiveFixture(["ann", "ben", "cat"])
        run(&fixture, 4, ["ann", "ben", "cat"])
        #expect(fixture.row("ben", for: "ann")?.heartRate == 150)
        fixture.change("ben") { $0.sharing.heartRate = false }
        fixture.change("cat") { $0.blocked = [User("ann")!] }
        fixture.pass(3)
        #expect(fixture.row("ben", for: "ann")?.heartRate == nil)
        #expect(fixture.row("cat", for: "ann")?.heartRate == nil)
        #expect(fixture.row("ann", for: "cat")?.heartRate == nil)
        #expect(fixture.row("cat", for: "ben")?.heartRate == 150)
        // Distance, pace and link always show.
        #expect(fixture.row("cat", for: "ann")?.distance == 16)
    }
}
