import Bus
import Formats
import Foundation
import MQTT
import ServiceKit
import Storage
import TestSupport
import Testing
import Workouts

@testable import Exporter

/// Two exporters with one export folder. The first does not notice at once that the second owns its session: it was frozen
/// for longer than its lease.
@Suite(.timeLimit(.minutes(60))) struct HandoverTests {
    private let folder: TemporaryFolder
    private let clock = ManualClock()
    private let workout = ServiceWorkout()
    private let stores: [MemoryStore]

    init() throws {
        folder = try TemporaryFolder()
        let database = MemoryDatabase()
        stores = [database.replica(), database.replica()]
    }

    private var shard: Shard { workout.key.session.shard }

    /// The workout after more items have arrived.
    private var revised: ServiceWorkout {
        var revised = workout
        revised.revision = 2
        revised.rows = 700
        return revised
    }

    /// An exporter without sessions.
    private func exporter(_ number: Int) async throws -> LoopRun {
        stores[number].gain([])
        return try await LoopRun(folder, clock: clock, store: stores[number])
    }

    /// The first exporter, with a delivery to begin.
    private func begun() async throws -> LoopRun {
        var run = try await exporter(0)
        try await run.handle(.ownership(stores[0].gain([shard])))
        try await run.deliver(workout.messages)
        return run
    }

    /// An exporter that takes the session over and exports a workout.
    private func takeOver(_ run: inout LoopRun, _ number: Int, _ workout: ServiceWorkout) async throws {
        try await run.handle(.ownership(stores[number].gain([shard])))
        try await run.handle(.announce([shard]))
        try await run.deliver(workout.messages)
        for _ in 0..<3 {
            try await run.pass(1, await run.work())
            try await run.deliver(workout.chunks)
        }
        let job = try #require(run.loop.machine.entries[workout.key]?.record[.folder])
        #expect(job.status == .done && job.delivered == workout.revision)
    }

    /// Expects these files of a workout, and no others.
    private func expectFiles(of workout: ServiceWorkout) throws {
        #expect(try RunningExporter.files(in: folder.file("exports")) == workout.files.sorted())
        for (path, format) in zip(workout.files, ExportFormat.allCases) {
            let content = try Data(contentsOf: URL(filePath: folder.file("exports/\(path)")))
            #expect([UInt8](content) == workout.file(format), "\(path)")
        }
    }

    @Test(arguments: ["Morning Run", "Hills"])
    func `a late delivery leaves the next owner's files as they are`(name: String) async throws {
        var (former, owner) = (try await begun(), try await exporter(1))
        var revised = revised
        revised.name = name
        let late = former.takeDeliveries()
        #expect(late.count == 1)
        try await takeOver(&owner, 1, revised)
        let outcomes = await LoopRun.work(late, former.loop.targets)
        #expect(outcomes.map(\.delivery) == [.failed("another process has taken over the export")])
        #expect(try await former.pass(1, outcomes).isEmpty)
        #expect(!former.loop.outbox.owns(shard))
        try expectFiles(of: revised)
    }

    @Test(arguments: ["Morning Run", "Hills"])
    func `a delivery that is frozen after its fence check changes nothing when it continues`(name: String) async throws
    {
        var (former, owner) = (try await begun(), try await exporter(1))
        var revised = revised
        revised.name = name
        let (isChecked, continuation) = AsyncStream.makeStream(of: Void.self)
        let (isThawed, thaw) = AsyncStream.makeStream(of: Void.self)
        former.store.delayNextCommit {
            continuation.finish()
            for await _ in isThawed {}
        }
        let (late, targets) = (former.takeDeliveries(), former.loop.targets)
        async let outcomes = LoopRun.work(late, targets)
        for await _ in isChecked {}
        try await takeOver(&owner, 1, revised)
        thaw.finish()
        let ended = await outcomes
        #expect(ended.map(\.delivery) == [.failed("cannot write the files: No such file or directory")])
        #expect(try await former.pass(1, ended).isEmpty)
        try expectFiles(of: revised)
    }

    @Test func `a delivery from before a loss changes nothing after its process has gained the session again`()
        async throws
    {
        var (former, owner) = (try await begun(), try await exporter(1))
        let late = former.takeDeliveries()
        try await takeOver(&owner, 1, revised)
        var newest = revised
        newest.revision = 3
        newest.rows = 800
        try await former.handle(.ownership(.lost([shard])))
        try await takeOver(&former, 0, newest)
        let outcomes = await LoopRun.work(late, former.loop.targets)
        try await former.pass(1, outcomes)
        #expect(former.loop.machine.entries[workout.key]?.record[.folder]?.status == .done)
        try expectFiles(of: newest)
    }

    @Test func `the next owner repeats a delivery whose outcome is not stored`() async throws {
        var (former, owner) = (try await begun(), try await exporter(1))
        _ = await former.work()
        try await owner.handle(.ownership(stores[1].gain([shard])))
        #expect(owner.loop.machine.working == [workout.key])
        try await owner.deliver(workout.chunks)
        try await owner.pass(1, await owner.work())
        #expect(owner.loop.machine.entries[workout.key]?.record[.folder]?.status == .done)
        try expectFiles(of: workout)
    }

    @Test func `a delivery that is frozen while its workout is deleted leaves no file`() async throws {
        var (former, owner) = (try await begun(), try await exporter(1))
        let (isChecked, continuation) = AsyncStream.makeStream(of: Void.self)
        let (isThawed, thaw) = AsyncStream.makeStream(of: Void.self)
        former.store.delayNextCommit {
            continuation.finish()
            for await _ in isThawed {}
        }
        let (late, targets) = (former.takeDeliveries(), former.loop.targets)
        async let outcomes = LoopRun.work(late, targets)
        for await _ in isChecked {}
        try await owner.handle(.ownership(stores[1].gain([shard])))
        try await owner.deliver([workout.deletion])
        thaw.finish()
        try await former.pass(1, await outcomes)
        #expect(try RunningExporter.files(in: folder.file("exports")).isEmpty)
    }
}
