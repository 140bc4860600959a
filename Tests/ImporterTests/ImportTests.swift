import Bus
import Foundation
import MQTT
import ServiceKit
import Storage
import TestSupport
import Testing
import Workouts

@testable import Importer

private let anna = User("anna")!
private let ben = User("ben")!
private let start = 1_700_000_000

private func key(_ user: User = anna) -> ImportKey { ImportKey(user, ImportID(UUID())) }

private func file(start: Int = start, duration: Int = 600) -> Data {
    Data(FITFixture.workout(start: start, duration: duration, pauses: [100...130]))
}

/// A recording of a minute as FIT, GPX or TCX.
private func any(_ format: Int, start: Int) -> Data {
    let times = (0..<60).map { Date(timeIntervalSince1970: Double(start + $0)).formatted(.iso8601) }
    switch format {
    case 0: return file(start: start, duration: 60)
    case 1:
        let points = times.enumerated().map { #"<trkpt lat="52.\#(1_000 + $0)" lon="13"><time>\#($1)</time></trkpt>"# }
        return Data("<gpx><trk><type>running</type><trkseg>\(points.joined())</trkseg></trk></gpx>".utf8)
    default:
        let points = times.enumerated().map { second, time in
            "<Trackpoint><Time>\(time)</Time><DistanceMeters>\(second * 3)</DistanceMeters></Trackpoint>"
        }
        let lap = "<Lap StartTime=\"\(times[0])\"><Track>\(points.joined())</Track></Lap>"
        return Data(
            ("<TrainingCenterDatabase><Activities><Activity Sport=\"Running\">\(lap)</Activity></Activities>"
                + "</TrainingCenterDatabase>").utf8)
    }
}

struct ImportTests {
    @Test func `a file in parts becomes one finished workout with its items`() async throws {
        var world = try await ImporterWorld()
        let status = try #require(try await world.upload(file(), as: key()))
        #expect(status.status == .done && status.sessions.count == 1)
        let services = try #require(world.services[SessionKey(anna, status.sessions[0])])
        #expect(services.samples.count == 572 && services.locations.count == 572)
        #expect(services.session?.endedAt != nil && services.session?.isPast == true)
        #expect(services.commands.map(\.action.kind) == [.start, .pause, .resume, .end])
        #expect(try await world.stored(ImportRecord.parts).isEmpty)
    }

    @Test func `parts are acknowledged after the commit, and repeated and early ones change nothing`() async throws {
        var world = try await ImporterWorld()
        let key = key()
        // More than one part: any content counts until all of it is there.
        let parts = ImportPart.all(of: Data(repeating: 7, count: 300_000), name: "a.fit")
        world.store.refuse()
        world.incoming = [ImporterWorld.message(parts[0], of: key)]
        try await world.step()
        #expect(world.acks[key] == nil)
        world.store.accept()
        try await world.step(seconds: 2)
        #expect(world.acks[key]?.n == 1)
        world.incoming = [parts[2], parts[0]].map { ImporterWorld.message($0, of: key) }
        try await world.step()
        #expect(world.acks[key]?.n == 1 && world.statuses[key]?.status == .receiving)
        try await world.crash()
        world.incoming = [parts[1]].map { ImporterWorld.message($0, of: key) }
        try await world.step()
        #expect(world.acks[key]?.n == 2)
    }

    @Test func `the same content is done at once with the workout that is there`() async throws {
        var world = try await ImporterWorld()
        let first = try #require(try await world.upload(file(), as: key()))
        let second = try #require(try await world.upload(file(), name: "copy.fit", as: key()))
        #expect(second.status == .done && second.sessions == first.sessions && world.services.count == 1)
        let other = try #require(try await world.upload(file(), as: key(ben)))
        #expect(other.sessions != first.sessions && world.services.count == 2)
    }

    @Test func `a deleted workout is logged again under another id`() async throws {
        var world = try await ImporterWorld()
        let first = try #require(try await world.upload(file(), as: key()))
        world.delete(SessionKey(anna, first.sessions[0]))
        let second = try #require(try await world.upload(file(), as: key()))
        #expect(second.status == .done && second.sessions != first.sessions && second.sessions.count == 1)
    }

    @Test func `a file that resembles a workout asks, and import and skip answer`() async throws {
        var world = try await ImporterWorld()
        let first = try #require(try await world.upload(file(), as: key()))
        let (similar, later) = (key(), key())
        let asked = try #require(try await world.upload(file(start: start + 40), as: similar, until: [.asking]))
        #expect(asked.match == first.sessions[0] && asked.reason?.contains("looks like") == true)
        #expect(try await world.ask(.retry(similar.id), of: anna)?.ok == true)
        #expect(try await world.ask(.log(similar.id), of: anna)?.ok == true)
        let logged = try #require(try await world.wait(for: similar))
        #expect(logged.status == .done && logged.sessions.count == 1 && logged.sessions != first.sessions)
        _ = try await world.upload(file(start: start - 50), as: later, until: [.asking])
        #expect(try await world.ask(.skip(later.id), of: anna)?.ok == true)
        let skipped = try #require(try await world.wait(for: later))
        #expect(skipped.sessions.isEmpty && skipped.match != nil && world.services.count == 2)
        #expect(try await world.upload(file(start: start + 200), as: key())?.status == .done)
    }

    @Test(arguments: [("", Activity.hiking), ("<type>running</type>", .running)])
    func `an archive's name is the workout's, and its activity that of a file that names none`(
        type: String, activity: Activity
    ) async throws {
        var world = try await ImporterWorld()
        let content = Data(
            String(decoding: any(1, start: start), as: UTF8.self).replacing("<type>running</type>", with: type).utf8)
        let told = ImportPart.Workout(name: "Brocken", activity: .hiking)
        let (first, second) = (key(), key())
        #expect(try await world.upload(content, name: "1.gpx", workout: told, as: first)?.remarks == nil)
        let session = try #require(world.services.values.first?.session)
        #expect(session.name == "Brocken" && session.activity == activity)
        // Without the archive, the same content is the same workout.
        let again = try await world.upload(content, name: "2.gpx", as: second)
        #expect(again?.status == .done && world.services.count == 1)
    }

    @Test func `two files of the same run that arrive together are one workout and one question`() async throws {
        var world = try await ImporterWorld()
        let (watch, phone) = (key(), key())
        for (file, key) in [(file(), watch), (file(start: start + 5), phone)] {
            world.incoming += ImportPart.all(of: file, name: "a.fit").map { ImporterWorld.message($0, of: key) }
            try await world.step()
        }
        #expect(try await world.wait(for: watch)?.status == .done)
        #expect(try await world.wait(for: phone, until: [.asking, .done])?.status == .asking)
    }

    @Test(arguments: [
        (Data("hello".utf8), "neither FIT"), (Data("<gpx/>".utf8), "no activity and no track"),
        (Data([0x50, 0x4B, 3, 4]), "compressed"),
    ])
    func `a refused file says why and what to do, and its parts are kept for a retry`(
        content: Data, reason: String
    ) async throws {
        var world = try await ImporterWorld()
        let key = key()
        let status = try #require(try await world.upload(content, name: "x.fit", as: key, until: [.refused]))
        #expect(status.reason?.hasPrefix("'x.fit' cannot be imported: ") == true)
        #expect(status.reason?.contains(reason) == true && world.services.isEmpty)
        #expect(try await world.ask(.retry(key.id), of: anna)?.ok == true)
        #expect(try await world.wait(for: key, until: [.refused])?.status == .refused)
        try await world.step(seconds: 3_601)
        try await world.step(seconds: 1)
        #expect(world.statuses[key] == nil)
        #expect(try await world.stored(ImportRecord.parts).isEmpty)
        #expect(try await world.stored(ImportRecord.imports).isEmpty)
        #expect(try await world.ask(.list(before: nil), of: anna)?.imports?.map(\.id) == [key.id])
    }

    @Test func `a cut file is a workout up to the cut, with a remark`() async throws {
        var world = try await ImporterWorld()
        let content = file(duration: 900)
        let status = try #require(try await world.upload(content.prefix(content.count * 2 / 3), as: key()))
        #expect(status.status == .done && status.remarks?.first?.contains("cut off") == true)
        #expect((300...700).contains(world.services.values.first?.samples.count ?? 0))
    }

    @Test func `limits of size and of unfinished imports are sentences`() async throws {
        var world = try await ImporterWorld()
        let big = key()
        let content = Data(count: ImporterMachine.byteLimit + 1)
        world.incoming = [ImporterWorld.message(ImportPart.all(of: content, name: "big.fit")[0], of: big)]
        try await world.step()
        #expect(world.statuses[big]?.reason?.contains("at most 32 MiB") == true)
        let parts = ImportPart.all(of: Data(count: 200_000), name: "a.fit")
        let keys = (0...ImporterMachine.unfinishedLimit).map { _ in key() }
        world.incoming = keys.map { ImporterWorld.message(parts[0], of: $0) }
        try await world.step()
        #expect(world.acks[keys[19]]?.n == 1 && world.statuses[keys[20]] == nil)
        #expect(world.acks[keys[20]]?.error?.code == "too_many_imports")
        let canceled = try await world.ask(.cancel(keys[0].id), of: anna)
        #expect(canceled?.ok == true && world.statuses[keys[0]]?.status == .refused)
        world.incoming = [ImporterWorld.message(parts[0], of: keys[20])]
        try await world.step()
        #expect(world.acks[keys[20]]?.n == 1 && world.acks[keys[20]]?.error == nil)
        #expect(try await world.ask(.skip(keys[1].id), of: anna)?.error?.message.contains("receiving") == true)
    }

    @Test func `a damaged file ends as workouts, with a question or with a reason, and hurts no other`() async throws {
        var random = SeededRandom()
        var world = try await ImporterWorld()
        for number in 0..<1_000 {
            var content = any(number % 3, start: start + number * 10_000)
            for _ in 0..<Int.random(in: 1...8, using: &random) {
                content[Int.random(in: content.indices, using: &random)] = .random(in: 0...255, using: &random)
            }
            if number % 5 == 0 { content.removeLast(Int.random(in: 0..<content.count, using: &random)) }
            let damaged = try await world.upload(content, as: key(), until: [.done, .refused, .asking])
            let isOver = damaged.map { [.done, .refused, .asking].contains($0.status) } ?? false
            #expect(
                isOver && (damaged?.status == .done || damaged?.reason != nil), "SEED=\(random.seed), file \(number)")
            try await world.step(seconds: 3_700)
        }
        #expect(try await world.upload(file(start: start - 20_000), as: key(ben))?.status == .done)
    }

    @Test func `after a user deleted everything, nothing of the user is stored`() async throws {
        var world = try await ImporterWorld()
        _ = try await world.upload(file(), as: key())
        let open = key()
        let part = ImportPart.all(of: Data(count: 200_000), name: "a.fit")[0]
        world.incoming = [ImporterWorld.message(part, of: open)]
        try await world.step()
        let kept = try #require(try await world.upload(file(), as: key(ben)))
        let profile = UserProfile(revision: 1, profile: Profile(), erasedAt: world.clock.now + 1)
        world.incoming = [Topic.user(anna, .profile).message(JSONCoding.encode(profile))]
        try await world.step(seconds: 2)
        #expect(world.statuses[open] == nil)
        for collection in [ImportRecord.imports, ImportRecord.parts, ImportRecord.contents, ImportRecord.ended] {
            #expect(try await world.stored(collection).allSatisfy { $0.hasPrefix("ben/") }, "\(collection.name)")
        }
        // The retained profile comes again with each connection, and erases nothing that began later.
        let later = key()
        world.incoming = [ImporterWorld.message(part, of: later)]
        try await world.step(seconds: 1)
        world.incoming = [Topic.user(anna, .profile).message(JSONCoding.encode(profile))]
        try await world.step()
        #expect(world.statuses[later]?.status == .receiving && kept.sessions.count == 1)
    }

    @Test func `a file that overlaps a session in progress waits, and is logged when that is over`() async throws {
        var world = try await ImporterWorld(FakeServices.Faults(startsPostponed: 1))
        let key = key()
        let waiting = try #require(try await world.upload(file(), as: key, until: [.waiting]))
        #expect(waiting.reason?.contains("overlaps a session") == true)
        #expect(try await world.wait(for: key)?.status == .done)
        let canceled = ImportKey(ben, ImportID(UUID()))
        _ = try await world.upload(file(), as: canceled, until: [.waiting])
        #expect(try await world.ask(.cancel(canceled.id), of: ben)?.ok == true)
        #expect(world.statuses[canceled]?.status == .refused)
    }

    @Test func `a session id follows from user, content, workout and generation alone`() {
        let one = ImportedSession(user: anna, fingerprint: "ff", index: 0, generation: 0)
        #expect(one == ImportedSession(user: anna, fingerprint: "ff", index: 0, generation: 0))
        let others = [
            ImportedSession(user: ben, fingerprint: "ff", index: 0, generation: 0),
            ImportedSession(user: anna, fingerprint: "fe", index: 0, generation: 0),
            ImportedSession(user: anna, fingerprint: "ff", index: 1, generation: 0),
            ImportedSession(user: anna, fingerprint: "ff", index: 0, generation: 1),
        ]
        #expect(Set(others + [one]).count == 5)
        // Version 5.
        #expect(others.allSatisfy { Array($0.key.session.description)[14] == "5" })
    }
}
