import Bus
import Client
import Formats
import Foundation
import MQTT
import ServiceKit
import Storage
import Synchronization
import TestSupport
import Testing
import Workouts

@testable import Exporter

/// The loop between bus, store and targets, event by event.
@Suite(.timeLimit(.minutes(60))) struct LoopTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    private func statuses(_ messages: [MQTTMessage], _ workout: ServiceWorkout) throws -> [ExportStatus.Status] {
        try messages.filter { $0.topic == Topic.session(workout.key, .export(.folder)).name && !$0.payload.isEmpty }
            .map { try JSONCoding.decode(ExportStatus.self, from: $0.payload).status }
    }

    private func logged(_ run: LoopRun) -> [String] {
        run.log.lines.filter { $0.hasPrefix("error") || $0.hasPrefix("notice") }
    }

    @Test func `an unreadable result gets a reply if its sender can be read`() async throws {
        var run = try await LoopRun(folder)
        let workout = ServiceWorkout()
        try await run.deliver(workout.messages)
        let id = CommandID(UUID())
        let result = Topic.session(workout.key, .exportResult(.healthKit)).message(
            Array(#"{"id":"\#(id)","client":"app","workout":"newest","ok":true}"#.utf8))
        let sent = try await run.deliver([result])
        let reply = try #require(sent.payloads(.user(workout.key.user, .replies(Client("app")!))).first)
        let answer = try JSONCoding.decode(Reply.self, from: reply)
        #expect(answer.id == id && answer.error?.code == "invalid_command")
        #expect(sent.payloads(.user(workout.key.user, .rejected)).count == 1)
    }

    // MARK: Notes

    @Test(arguments: [true, false])
    func `files have the note and the exertion of an edit, and lose them with its undo`(isFirst: Bool) async throws {
        var run = try await LoopRun(folder)
        var workout = ServiceWorkout()
        if !isFirst {
            try await run.deliver(workout.messages)
            try await run.pass(1, await run.work())
            workout.revision += 1
        }
        var profile = SessionProfile(revision: 5, profile: Profile())
        var edit = WorkoutEdit()
        (edit.note, edit.exertion) = ("Windy & cold.", 7)
        profile.edit = edit
        func copy() -> MQTTMessage { Topic.session(workout.key, .profile).message(JSONCoding.encode(profile)) }
        try await run.deliver([copy()])
        try await run.deliver(workout.messages)
        try await run.pass(1, await run.work())
        func text(_ format: ExportFormat) throws -> String {
            let path = ExportFile(workout.record, format).path
            let bytes = try Data(contentsOf: URL(filePath: folder.file("exports/\(path)")))
            return String(decoding: bytes, as: UTF8.self)
        }
        #expect(try text(.gpx).contains("<desc>Windy &amp; cold.</desc>"))
        #expect(try text(.tcx).contains("Morning Run&#10;&#10;Windy &amp; cold.</Notes>"))
        #expect(try text(.json).contains(#""exertion":7,"#) && text(.json).contains(#""note":"Windy & cold.""#))
        profile.revision = 6
        profile.edit = WorkoutEdit()
        workout.revision += 1
        try await run.deliver([copy()] + workout.messages)
        try await run.pass(1, await run.work())
        for format in [ExportFormat.gpx, .tcx, .json] { #expect(try !text(format).contains("Windy")) }
        try await run.deliver([workout.deletion])
        try await run.deliver([copy()])
        #expect(try await run.stored(ExportRecord.exports).isEmpty)
    }

    // MARK: Deletion

    @Test func `a deleted workout leaves nothing in store, folder and retained topics`() async throws {
        var run = try await LoopRun(folder)
        let (workout, other) = (ServiceWorkout(), ServiceWorkout())
        try await run.deliver(workout.messages + other.messages)
        try await run.pass(1, await run.work())
        #expect(try run.files == (workout.files + other.files).sorted())
        let sent = try await run.deliver([workout.deletion])
        for target in [Target.folder, .healthKit] {
            let topic = Topic.session(workout.key, .export(target)).name
            #expect(sent.contains { $0.topic == topic && $0.payload.isEmpty && $0.retain })
        }
        #expect(try run.files == other.files.sorted())
        #expect(try await run.stored(ExportRecord.exports) == ["\(other.key)"])
        #expect(try await run.stored(ExportRecord.workouts) == ["\(other.key)"])
        try await run.deliver(workout.messages)
        try await run.pass(600)
        #expect(run.loop.machine.entries[workout.key] == nil)
        #expect(try run.files == other.files.sorted())
    }

    @Test func `files of a delivery during the deletion are removed`() async throws {
        var run = try await LoopRun(folder)
        let workout = ServiceWorkout()
        try await run.deliver(workout.messages)
        let sent = try await run.deliver([workout.deletion])
        #expect(sent.contains { $0.payload.isEmpty })
        let outcomes = await run.work()
        #expect(outcomes.count == 1)
        #expect(try run.files.count == workout.files.count)
        try await run.pass(1, outcomes)
        #expect(try run.files.isEmpty)
        #expect(try await run.stored(ExportRecord.exports).isEmpty)
    }

    @Test func `files that a killed process wrote are removed with a later deletion`() async throws {
        let workout = ServiceWorkout()
        func write(deletingBefore: Bool) async throws {
            var run = try await LoopRun(folder)
            try await run.deliver(workout.messages)
            if deletingBefore { try await run.deliver([workout.deletion]) }
            _ = await run.work()
            #expect(try run.files == workout.files.sorted())
        }
        for deletingBefore in [false, true] {
            try await write(deletingBefore: deletingBefore)
            var next = try await LoopRun(folder)
            try await next.deliver([workout.deletion])
            #expect(try next.files.isEmpty)
        }
    }

    // MARK: Targets

    @Test func `a second target that keeps files works like the folder`() async throws {
        let other = SessionFolderTarget(folder: folder.file("archive"))
        var run = try await LoopRun(folder, others: [other])
        func archived() throws -> [String] { try RunningExporter.files(in: folder.file("archive")) }
        var workout = ServiceWorkout()
        try await run.deliver(workout.messages)
        var sent = try await run.pass(1, await run.work())
        let topic = Topic.session(workout.key, .export(.sessionFolder)).name
        let status = try JSONCoding.decode(
            ExportStatus.self, from: try #require(sent.last { $0.topic == topic }).payload)
        let files = try archived()
        #expect(status.status == .done && status.files == files && files.count == 1)
        #expect(run.loop.context.metrics.render().contains(#"outcome="delivered",target="session-folder"} 1"#))
        workout.revision = 2
        try await run.deliver(workout.messages)
        try await run.pass(1, await run.work())
        #expect(try archived().map { $0.hasSuffix("/2.json") } == [true])
        try await run.deliver([workout.request(.sessionFolder)] + workout.chunks)
        #expect(run.takeDeliveries().map { $0.work.destinations.map(\.target) } == [[.sessionFolder]])
        sent = try await run.deliver([workout.deletion])
        #expect(sent.contains { $0.topic == topic && $0.payload.isEmpty })
        #expect(try archived().isEmpty)
        #expect(try run.files.isEmpty)
    }

    // MARK: The disk

    @Test func `while the disk fails nothing is published, the error is logged once, and the work resumes afterwards`()
        async throws
    {
        var run = try await LoopRun(folder)
        let workout = ServiceWorkout()
        run.store.refuse(true)
        var sent = try await run.deliver(workout.messages)
        for _ in 0..<5 { sent += try await run.pass(2) }
        sent += try await run.deliver([workout.request(.folder)])
        #expect(sent.isEmpty)
        #expect(await run.work().isEmpty)
        #expect(logged(run) == ["error commit failed, retrying error=the store cannot be written: disk full"])
        run.store.refuse(false)
        sent = try await run.pass(2)
        #expect(try statuses(sent, workout).last == .exporting)
        #expect(logged(run).last == "notice commits succeed again")
        let outcomes = await run.work()
        run.store.refuse(true)
        #expect(try await run.pass(1, outcomes).isEmpty)
        run.store.refuse(false)
        #expect(try statuses(try await run.pass(2), workout) == [.done])
        #expect(try run.files == workout.files.sorted())
        #expect(logged(run).count == 4)
    }

    @Test func `a request gets its reply only after the disk takes writes again`()
        async throws
    {
        var run = try await LoopRun(folder)
        let workout = ServiceWorkout()
        try await run.deliver(workout.messages)
        try await run.pass(1, await run.work())
        run.store.refuse(true)
        let request = workout.request(.folder, id: CommandID(UUID()))
        for _ in 0..<100 { #expect(try await run.deliver([request]).isEmpty) }
        try await run.pass(2)
        #expect(run.loop.outbox.actions.count < 10)
        run.store.refuse(false)
        let replies = Topic.user(workout.key.user, .replies(Client("tests")!)).name
        #expect(try await run.pass(2).allSatisfy { $0.topic != replies })
        #expect(try await run.deliver([request]).count { $0.topic == replies } == 1)
    }

    @Test func `over the limit nothing more is read until the disk takes writes again`() async throws {
        var run = try await LoopRun(folder)
        run.loop.outbox.pendingLimit = 100_000
        run.store.refuse(true)
        let isRead = Mutex(true)
        var workouts: [ServiceWorkout] = []
        // Like a client, deliver nothing before the batch is acknowledged.
        while isRead.withLock(\.self), workouts.count < 1_000 {
            let workout = ServiceWorkout()
            workouts.append(workout)
            isRead.withLock { $0 = false }
            try await run.handle(.batch(MQTTBatch(messages: workout.messages) { isRead.withLock { $0 = true } }))
        }
        #expect((2..<100).contains(workouts.count))
        for _ in 0..<3 { try await run.pass(2) }
        #expect(!isRead.withLock { $0 })
        run.store.refuse(false)
        try await run.pass(2)
        #expect(isRead.withLock { $0 })
        #expect(Set(try await run.stored(ExportRecord.workouts)) == Set(workouts.map { "\($0.key)" }))
    }

    @Test func `a deletion while the disk fails happens when it takes writes again`() async throws {
        var run = try await LoopRun(folder)
        let workout = ServiceWorkout()
        try await run.deliver(workout.messages)
        try await run.pass(1, await run.work())
        run.store.refuse(true)
        #expect(try await run.deliver([workout.deletion]).isEmpty)
        #expect(try run.files == workout.files.sorted())
        run.store.refuse(false)
        #expect(try await run.pass(2).contains { $0.payload.isEmpty })
        #expect(try run.files.isEmpty)
        #expect(try await run.stored(ExportRecord.exports).isEmpty)
    }

    @Test func `a folder that is not writable is retried with the reason in the status`() async throws {
        var run = try await LoopRun(folder)
        let workout = ServiceWorkout()
        let blocking = try folder.write("", to: "exports")
        try await run.deliver(workout.messages)
        var sent = try await run.pass(1, await run.work())
        let message = try #require(sent.last { $0.topic == Topic.session(workout.key, .export(.folder)).name })
        let status = try JSONCoding.decode(ExportStatus.self, from: message.payload)
        #expect(status.status == .pending)
        #expect(status.reason == "cannot write the files: Not a directory")
        #expect(status.nextAttemptAt == run.clock.now + 60)
        try FileManager.default.removeItem(atPath: blocking)
        try await run.pass(59)
        #expect(await run.work().isEmpty)
        // The service now requests the chunks.
        try await run.pass(1)
        sent = try await run.pass(2)
        #expect(sent.contains { $0.topic == workout.request(nil).topic })
        try await run.deliver(workout.chunks)
        sent = try await run.pass(1, await run.work())
        #expect(try statuses(sent, workout) == [.done])
        #expect(try run.files == workout.files.sorted())
    }

    @Test func `half-written files of a killed process are removed with its shards`()
        async throws
    {
        let workout = ServiceWorkout()
        let place = DurableFolder(path: folder.file("exports/anna"))
        try place.make()
        let hidden = try place.writeHidden("\(workout.key.session)-epoch-0") { try $0.append([1]) }
        var run = try await LoopRun(folder)
        #expect(try place.names().allSatisfy { $0 != hidden })
        let others = try place.writeHidden("\(workout.key.session)-epoch-0") { try $0.append([1]) }
        let shard = workout.key.session.shard
        try await run.handle(.ownership(.gained(run.loop.outbox.epochs.filter { $0.key != shard })))
        #expect(try place.names().contains(others))
    }

    @Test func `corrupt records are logged, and the others are exported`() async throws {
        let workouts = (0..<3).map { _ in ServiceWorkout() }
        func begin() async throws {
            var run = try await LoopRun(folder)
            try await run.deliver(workouts.flatMap(\.messages))
            func damage(_ key: SessionKey, _ collection: StoreCollection) -> StoreWrite {
                let epoch = run.loop.outbox.epochs[key.session.shard]!
                return StoreWrite(
                    shard: key.session.shard, epoch: epoch, collection: collection,
                    change: .put(key: "\(key)", value: [0x7b]))
            }
            _ = try await run.store.commit([
                damage(workouts[0].key, ExportRecord.exports), damage(workouts[1].key, ExportRecord.workouts),
            ])
        }
        try await begin()
        var run = try await LoopRun(folder)
        let wrong = run.log.lines.filter { $0.hasPrefix("error corrupt record") }
        func line(_ collection: String, _ key: SessionKey) -> String {
            "error corrupt record ignored record=\(collection)/\(key) session=\(key.session) user=\(key.user)"
        }
        #expect(wrong.first == line("exports", workouts[0].key))
        #expect(wrong.last == line("workouts", workouts[1].key))
        #expect(run.loop.machine.entries[workouts[1].key]?.record[.folder]?.status == .failed)
        try await run.deliver(workouts[2].chunks)
        try await run.pass(1, await run.work())
        #expect(try run.files == workouts[2].files.sorted())
        // The broker delivers the workout again, and the exporter exports it again.
        try await run.deliver(workouts[0].messages)
        try await run.pass(1, await run.work())
        #expect(try run.files == (workouts[0].files + workouts[2].files).sorted())
    }

    // MARK: The bus

    @Test func `without a connection no delivery begins, and the next connection resumes`() async throws {
        var run = try await LoopRun(folder)
        var workout = ServiceWorkout()
        workout.isIncomplete = true
        try await run.deliver(workout.messages)
        try await run.handle(.disconnected)
        for _ in 0..<20 { try await run.pass(600) }
        #expect(await run.work().isEmpty)
        #expect(run.loop.machine.entries[workout.key]?.record[.folder]?.attempts == 0)
        let sent = try await run.handle(.connected)
        #expect(try statuses(sent, workout).last == .exporting)
        try await run.pass(1, await run.work())
        #expect(try run.files == workout.files.sorted())
    }

    @Test func `an invalid payload of a megabyte is rejected`() async throws {
        var run = try await LoopRun(folder)
        let workout = ServiceWorkout()
        let large = [UInt8](repeating: UInt8(ascii: "9"), count: 1 << 20)
        let topics: [SessionTopic] = [
            .series(0), .summaryMetrics, .state, .workout, .request, .exportResult(.healthKit),
        ]
        let sent = try await run.deliver(topics.map { Topic.session(workout.key, $0).message(large) })
        #expect(sent.count { $0.topic == Topic.rejected(service: "exporter").name } == topics.count)
        // Users send requests and results only.
        #expect(sent.count { $0.topic == Topic.user(workout.key.user, .rejected).name } == 2)
        #expect(sent.count == topics.count + 2)
        #expect(run.loop.machine.entries.isEmpty && run.loop.collector.cachedBytes < 1_000)
    }

    @Test func `an export with a corrupt chunk fails and is repeated with later chunks`() async throws {
        var run = try await LoopRun(folder)
        let workout = ServiceWorkout()
        let corrupt = Array(#"{"columns":{"c":[1,2],"h":[3]},"n":0,"of":2,"revision":1}"#.utf8)
        try await run.deliver(
            [Topic.session(workout.key, .series(0)).message(corrupt)] + workout.messages.dropFirst())
        let outcomes = await run.work()
        #expect(outcomes.map(\.delivery) == [.corrupt])
        try await run.pass(0, outcomes)
        #expect(try run.files == [])
        try await run.pass(120)
        try await run.deliver(workout.chunks)
        try await run.pass(1, await run.work())
        #expect(try run.files == workout.files.sorted())
    }

    @Test func `unwanted chunks stay within the limit`() async throws {
        var run = try await LoopRun(folder)
        let chunk = try #require(ServiceWorkout().chunks.first)
        #expect(10_000 * chunk.payload.count > ChunkCollector.Limits().cache)
        for _ in 0..<100 {
            try await run.deliver(
                (0..<100).map { _ in Topic.session(ServiceWorkout().key, .series(0)).message([UInt8](chunk.payload)) })
            #expect(run.loop.collector.cachedBytes <= ChunkCollector.Limits().cache)
        }
        #expect(run.loop.machine.entries.isEmpty)
        let workout = ServiceWorkout()
        try await run.deliver(workout.messages)
        try await run.pass(1, await run.work())
        #expect(try run.files == workout.files.sorted())
        #expect(run.loop.collector.wantedBytes == 0)
    }

    // MARK: Shards

    @Test func `outcomes of deliveries from before a hand-over are neither logged nor counted`() async throws {
        var run = try await LoopRun(folder)
        let workout = ServiceWorkout()
        let shard = workout.key.session.shard
        let epoch = try #require(run.loop.outbox.epochs[shard])
        try await run.deliver(workout.messages)
        let work = try #require(run.takeDeliveries().first).work
        let cut = work.destinations.map { DeliveryOutcome(key: work.key, $0, delivery: .failed("CancellationError")) }
        try await run.handle(.ownership(.lost([shard])))
        try await run.pass(1, cut)
        try await run.handle(.ownership(.gained([shard: epoch])))
        #expect(run.loop.machine.working == [workout.key])
        #expect(try statuses(try await run.pass(1, cut), workout).isEmpty)
        #expect(run.loop.machine.working == [workout.key])
        #expect(run.log.lines.allSatisfy { !$0.contains("export failed") })
        let lines = run.loop.context.metrics.render().split(separator: "\n")
        let deliveries = lines.filter { $0.contains("deliveries_total{") }
        #expect(!deliveries.isEmpty && deliveries.allSatisfy { $0.hasSuffix(" 0") })
        try await run.deliver(workout.chunks)
        #expect(try statuses(try await run.pass(1, await run.work()), workout) == [.done])
        #expect(run.loop.context.metrics.render().contains(#"deliveries_total{outcome="delivered",target="folder"} 1"#))
    }

    @Test func `sessions of lost shards are neither exported nor answered`() async throws {
        var run = try await LoopRun(folder)
        let (begun, waiting) = (ServiceWorkout(), ServiceWorkout())
        try await run.deliver(begun.messages + [waiting.workout])
        try await run.handle(.ownership(.lost([begun.key.session.shard, waiting.key.session.shard])))
        #expect(await run.work().isEmpty)
        #expect(run.loop.machine.entries.isEmpty && run.loop.collecting.isEmpty)
        #expect(run.loop.collector.cachedBytes == 0 && run.loop.collector.wantedBytes == 0)
        var sent = try await run.deliver(waiting.chunks + [waiting.request(nil), begun.workout])
        sent += try await run.pass(60)
        #expect(sent.isEmpty)
    }
}
