import Bus
import Client
import Formats
import Foundation
import MQTT
import ServiceKit
import TestSupport
import Testing
import Workouts

@testable import Exporter

/// Requests of type `file`: a client gets the file of a workout in parts.
@Suite(.timeLimit(.minutes(60))) struct FileTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    private func request(
        _ workout: ServiceWorkout, _ format: String = "fit", from: Int = 0, id: CommandID = CommandID(UUID()),
        client: String = "page"
    ) -> MQTTMessage {
        Topic.session(workout.key, .request).message(
            JSONCoding.encode(
                SessionRequest(id: id, client: Client(client)!, action: .file(format: format, from: from))))
    }

    private func replies(_ messages: [MQTTMessage], _ workout: ServiceWorkout, client: String = "page") -> [Reply] {
        messages.payloads(.user(workout.key.user, .replies(Client(client)!))).compactMap {
            try? JSONCoding.decode(Reply.self, from: $0)
        }
    }

    /// Writes the files that the loop wants, and passes them to it.
    private func write(_ run: inout LoopRun) async throws -> [MQTTMessage] {
        var written: [WrittenFile] = []
        for case .write(let name, let collected) in run.loop.takeJobs() {
            written.append(await .write(name, collected, folder: run.folder.file("exports")))
        }
        return try await run.handle(.tick, files: written)
    }

    /// The chunks and summaries, as the owners publish them after a request.
    private func chunks(_ workout: ServiceWorkout) -> [MQTTMessage] {
        workout.messages.filter { $0.topic != Topic.session(workout.key, .workout).name }
    }

    private func isForChunks(_ message: MQTTMessage) -> Bool {
        (try? JSONCoding.decode(SessionRequest.self, from: message.payload))?.action == .chunks
    }

    @Test func `a finished workout comes as a file in each format, with its chunks read once`() async throws {
        var run = try await LoopRun(folder)
        let workout = ServiceWorkout()
        try await run.deliver(workout.messages)
        try await run.pass(1, await run.work())
        // The chunks are asked for at once.
        var sent = try await run.deliver([request(workout)])
        #expect(sent.filter(isForChunks).count == 1)
        for format in ExportFormat.allCases {
            let id = CommandID(UUID())
            sent = try await run.deliver([request(workout, format.rawValue, id: id)])
            if format == .fit { sent += try await run.deliver(chunks(workout)) }
            #expect(!sent.contains(where: isForChunks))
            let parts = replies(try await write(&run), workout).filter { $0.id == id }.compactMap(\.file)
            let bytes = workout.file(format)
            #expect(parts.map(\.n) == Array(0..<parts[0].of))
            #expect(parts.reduce(Data()) { $0 + $1.x } == Data(bytes), "\(format)")
            #expect(parts[0].name == ExportFile(workout.record, format).name && parts[0].workout == workout.revision)
        }
    }

    @Test func `a window ends at 16 parts, and the rest comes from the same file`() async throws {
        var run = try await LoopRun(folder)
        var workout = ServiceWorkout()
        workout.rows = 36_000
        try await run.deliver(workout.messages)
        try await run.deliver([request(workout, "json")])
        try await run.deliver(chunks(workout))
        var parts = replies(try await write(&run), workout).compactMap(\.file)
        #expect(parts.map(\.n) == Array(0..<16))
        while let last = parts.last, last.n + 1 < last.of {
            parts += replies(try await run.deliver([request(workout, "json", from: parts.count)]), workout)
                .compactMap(\.file)
        }
        #expect(parts.reduce(Data()) { $0 + $1.x } == Data(workout.file(.json)))
        let beyond = try await run.deliver([request(workout, "json", from: parts.count)])
        #expect(replies(beyond, workout).first?.error?.code == "invalid_command")
        // After a minute without readers, the exporter collects the chunks again.
        try await run.pass(61)
        #expect(try await run.deliver([request(workout, "json")]).contains(where: isForChunks))
    }

    @Test func `a newer revision replaces the file`() async throws {
        var run = try await LoopRun(folder)
        var workout = ServiceWorkout()
        try await run.deliver(workout.messages + [request(workout)])
        #expect(replies(try await write(&run), workout).first?.file?.workout == 1)
        workout.revision = 2
        workout.name = "Evening Run"
        try await run.deliver(workout.messages + [request(workout)])
        try await run.pass(0.1)
        let part = try #require(replies(try await write(&run), workout).first?.file)
        #expect(part.workout == 2 && part.name.contains("evening-run"))
    }

    @Test func `requests that cannot be answered say why`() async throws {
        var run = try await LoopRun(folder)
        let (workout, unknown) = (ServiceWorkout(), ServiceWorkout())
        try await run.deliver(workout.messages)
        #expect(replies(try await run.deliver([request(unknown)]), unknown).first?.error == .noFile)
        let doc = replies(try await run.deliver([request(workout, "doc")]), workout).first?.error
        #expect(doc?.message == "format: unknown 'doc'; available: fit, tcx, gpx, csv, json")
        try await run.pass(1, await run.work())
        // The owners of the chunks do not answer.
        #expect(replies(try await run.deliver([request(workout)]), workout).isEmpty)
        let failure = replies(try await run.pass(61), workout).first?.error
        #expect(failure?.code == "file_failed" && failure?.message.contains("metrics-aggregator") == true)
    }

    @Test func `a deleted workout has no file`() async throws {
        var run = try await LoopRun(folder)
        let workout = ServiceWorkout()
        try await run.deliver(workout.messages + [request(workout)])
        #expect(replies(try await run.deliver([workout.deletion]), workout).first?.error == .noFile)
        #expect(replies(try await write(&run), workout).isEmpty)
        #expect(replies(try await run.deliver([request(workout)]), workout).first?.error == .noFile)
    }

    @Test func `an account that asks too often waits, and another does not`() async throws {
        var run = try await LoopRun(folder)
        let (workout, other) = (ServiceWorkout(), ServiceWorkout("ben"))
        try await run.deliver(workout.messages + other.messages)
        let sent = try await run.deliver((0..<200).map { _ in request(workout) } + [request(other)])
        let refused = replies(sent, workout).compactMap(\.error)
        #expect(refused.count == 150 && Set(refused) == [.tooManyFiles])
        try await run.deliver(chunks(workout) + chunks(other))
        let answers = try await write(&run)
        #expect(replies(answers, other).first?.file != nil)
        // At most some answers in a step, and all of them in the end.
        var count = replies(answers, workout).count
        #expect(count <= FileRequests.answerLimit * FilePart.window)
        for _ in 0..<10 { count += replies(try await run.pass(0.1), workout).count }
        #expect(count == 50)
    }

    @Test func `the bytes of files count as exported`() async throws {
        let workout = ServiceWorkout()
        var run = try await LoopRun(folder, bytesPerDay: workout.file(.json).count - 1)
        try await run.deliver(workout.messages + [request(workout, "json")])
        let error = replies(try await write(&run), workout).first?.error
        #expect(error?.code == "file_failed" && error?.message.contains("after 00:00 UTC") == true)
    }

    @Test func `after any requests, losses and revisions each reader has the bytes of one revision`() async throws {
        var random = SeededRandom()
        var run = try await LoopRun(folder)
        var workouts = [ServiceWorkout(), ServiceWorkout("ben")]
        for index in workouts.indices { workouts[index].rows = 9_000 }
        var read: [CommandID: (workout: Int, format: ExportFormat, parts: [FilePart])] = [:]
        for workout in workouts { try await run.deliver(workout.messages) }
        var sent: [MQTTMessage] = []
        for _ in 0..<150 {
            let index = Int.random(in: workouts.indices, using: &random)
            switch Int.random(in: 0..<10, using: &random) {
            case 0:
                workouts[index].revision += 1
                workouts[index].name = "Run \(workouts[index].revision)"
                sent += try await run.deliver(workouts[index].messages)
            case 1..<5:
                let (id, format) = (CommandID(UUID()), ExportFormat.allCases.randomElement(using: &random)!)
                read[id] = (index, format, [])
                sent += try await run.deliver([request(workouts[index], format.rawValue, id: id)])
            case 5..<8: sent += try await write(&run)
            default: sent += try await run.pass(Double.random(in: 0...40, using: &random))
            }
            // The owners answer, most of the time.
            for workout in workouts where Int.random(in: 0..<4, using: &random) > 0 {
                let topic = Topic.session(workout.key, .request).name
                if sent.contains(where: { $0.topic == topic }) { sent += try await run.deliver(chunks(workout)) }
            }
            for workout in workouts {
                for reply in replies(sent, workout) {
                    guard let part = reply.file else { continue }
                    read[reply.id]?.parts.append(part)
                }
            }
            sent = []
        }
        for (index, format, parts) in read.values where !parts.isEmpty {
            #expect(
                Set(parts.map(\.workout)).count == 1 && parts.map(\.n) == Array(0..<parts.count), "seed \(random.seed)")
            guard parts.count == parts[0].of else { continue }
            var workout = workouts[index]
            workout.revision = parts[0].workout
            if workout.revision > 1 { workout.name = "Run \(workout.revision)" } else { workout.name = "Morning Run" }
            #expect(
                parts.reduce(Data()) { $0 + $1.x } == Data(workout.file(format)),
                "seed \(random.seed), \(format), revision \(workout.revision)")
        }
        #expect(read.values.contains { !$0.parts.isEmpty })
    }
}
