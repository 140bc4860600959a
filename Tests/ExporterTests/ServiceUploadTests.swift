import Bus
import Formats
import Foundation
import MQTT
import ServiceKit
import TestSupport
import Testing
import Workouts

@testable import Exporter

/// The running service, with an upload server that fails on request of a test.
@Suite(.timeLimit(.minutes(60))) struct ServiceUploadTests {
    private let folder: TemporaryFolder
    private let credentials: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
        credentials = try TemporaryFolder()
        for user in ["anna", "bert"] {
            let path = try credentials.write("bearer token-of-\(user)", to: user)
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
        }
    }

    private func upload(_ server: UploadServer) -> ExportConfiguration.Upload {
        .init(url: server.url, credentials: credentials.path)
    }

    /// The possible failures of one request. After each, the workout is delivered or retried.
    private static let faults = [
        "{}", #"{"kind":"close"}"#, #"{"kind":"cut"}"#, #"{"kind":"store-close"}"#, #"{"kind":"store-half"}"#,
        #"{"kind":"store-hang"}"#, #"{"kind":"nonsense"}"#, #"{"status":500}"#, #"{"status":503}"#,
        #"{"status":429,"headers":{"Retry-After":"90"}}"#, #"{"known":200}"#, #"{"kind":"store-hang","known":500}"#,
    ]

    @Test func `with any failures of the server and the service, each workout is stored once under one key`()
        async throws
    {
        var random = SeededRandom()
        let server = try await UploadServer("{}")
        let (broker, clock) = (InMemoryBroker(), ManualClock())
        var workouts: [ServiceWorkout] = []
        var versions: [[ServiceWorkout]] = []
        var seen = 0
        for round in 0..<8 {
            let steps = (0..<12).map { _ in Self.faults.randomElement(using: &random)! }
            try server.script(steps.joined(separator: ","))
            try await RunningExporter.run(
                in: folder, upload: upload(server), broker: broker, clock: clock, uploadTimeout: .milliseconds(300),
                ending: .kill
            ) { exporter in
                if round < 6 {
                    workouts.append(ServiceWorkout(round.isMultiple(of: 2) ? "anna" : "bert"))
                    versions.append([workouts[round]])
                    try await exporter.send(workouts[round].messages)
                }
                // A later revision does not change the upload.
                let revised = Int.random(in: workouts.indices, using: &random)
                workouts[revised].revision += 1
                workouts[revised].rows += 1
                versions[revised].append(workouts[revised])
                try await exporter.send(workouts[revised].messages)
                let goal = try server.requests.count + Int.random(in: 0...6, using: &random)
                // The kill may also happen during backoff.
                _ = try await eventually(within: .seconds(1)) {
                    try await pass(exporter, workouts, &seen)
                    return try server.requests.count >= goal
                }
            }
        }
        try server.script("{}")
        try await RunningExporter.run(in: folder, upload: upload(server), broker: broker, clock: clock) { exporter in
            let isDone = try await eventually {
                try await pass(exporter, workouts, &seen)
                return try workouts.allSatisfy { workout in
                    let folder = try exporter.retainedStatus(of: workout.key, .folder)
                    let upload = try exporter.retainedStatus(of: workout.key, .upload)
                    return folder?.status == .done && folder?.workout == workout.revision && upload?.status == .done
                }
            }
            #expect(isDone, "seed \(random.seed)")
            #expect(try exporter.files == workouts.flatMap(\.files).sorted(), "seed \(random.seed)")
        }
        let keys = workouts.map { "\($0.key)/upload" }
        let uploads = try server.uploads
        #expect(uploads.map(\.key).sorted() == keys.sorted(), "seed \(random.seed)")
        #expect(Set(try server.requests.map { $0.headers["idempotency-key"] }) == Set(keys), "seed \(random.seed)")
        for (number, upload) in uploads.enumerated() {
            let index = try #require(keys.firstIndex(of: upload.key))
            let file = try server.file(number)
            // A later revision's chunks may arrive before its record.
            let files = versions[index].flatMap { record in
                versions[index].filter { $0.revision >= record.revision }.map { record.file(.fit, rows: $0) }
            }
            #expect(files.contains(file), "seed \(random.seed)")
        }
    }

    /// Advances the clock, faster while all exports back off, and answers requests for chunks.
    private func pass(_ exporter: RunningExporter, _ workouts: [ServiceWorkout], _ seen: inout Int) async throws {
        let isWorking = try workouts.contains { workout in
            try [Target.folder, .upload].contains {
                try exporter.retainedStatus(of: workout.key, $0)?.status == .exporting
            }
        }
        exporter.clock.advance(by: .seconds(isWorking ? 2 : 30))
        seen = try await exporter.answer(workouts, after: seen)
        try await exporter.settle()
    }

    @Test(arguments: [
        (401, "401 Unauthorized: the server rejects the credentials of 'anna'"),
        (413, "413 Payload Too Large: the file is too large for the server"),
    ])
    func `an upload that the server refuses fails with a reason and is repeated on request only`(
        status code: Int, reason: String
    ) async throws {
        let server = try await UploadServer(#"{"status":\#(code)}"#)
        let (broker, clock) = (InMemoryBroker(), ManualClock())
        let workout = ServiceWorkout()
        try await RunningExporter.run(
            in: folder, upload: upload(server), broker: broker, clock: clock, ending: .kill
        ) { exporter in
            try await exporter.send(workout.messages)
            let failed = try await exporter.status(of: workout.key, .upload) { $0.status == .failed }
            #expect(failed.reason == reason)
            #expect(failed.nextAttemptAt == nil)
            try await exporter.status(of: workout.key, .folder)
            #expect(exporter.log.lines.contains { $0.hasPrefix("error export refused") && $0.contains("\(code)") })
            #expect(!exporter.log.lines.contains { $0.contains("token-of") })
        }
        try server.script("{}")
        try await RunningExporter.run(in: folder, upload: upload(server), broker: broker, clock: clock) { exporter in
            for _ in 0..<5 { try await exporter.pass(6 * 3_600) }
            try await exporter.settle()
            #expect(try server.requests.count == 1)
            let id = CommandID(UUID())
            try await exporter.send(workout.request(.upload, id: id))
            #expect(try await exporter.reply(to: id, of: workout.key.user).ok)
            try await exporter.send(workout.chunks)
            try await exporter.status(of: workout.key, .upload)
            #expect(try server.uploads.map(\.key) == ["\(workout.key)/upload"])
        }
    }

    @Test func `an upload is repeated on request only, under a new key that survives a kill`()
        async throws
    {
        let server = try await UploadServer("{}")
        let (broker, clock) = (InMemoryBroker(), ManualClock())
        var workout = ServiceWorkout()
        let id = CommandID(UUID())
        try await RunningExporter.run(
            in: folder, upload: upload(server), broker: broker, clock: clock, ending: .kill
        ) { exporter in
            try await exporter.send(workout.messages)
            try await exporter.status(of: workout.key, .upload)
            workout.revision = 2
            try await exporter.send(workout.messages)
            try await exporter.status(of: workout.key, .folder) { $0.status == .done && $0.workout == 2 }
            #expect(try server.requests.count == 1)
            try server.script(#"{"kind":"store-hang"}"#)
            try await exporter.send(workout.request(.upload, id: id))
            #expect(try await exporter.reply(to: id, of: workout.key.user).ok)
            try await exporter.send(workout.chunks)
            try await exporter.expectEventually { try server.uploads.count == 2 }
        }
        try server.script("{}")
        try await RunningExporter.run(in: folder, upload: upload(server), broker: broker, clock: clock) { exporter in
            try await exporter.send(workout.request(.upload, id: id))
            #expect(try await exporter.reply(to: id, of: workout.key.user).ok)
            try await exporter.send(workout.chunks)
            try await exporter.status(of: workout.key, .upload)
            let again = try #require(try server.uploads.last?.key)
            #expect(again != "\(workout.key)/upload")
            #expect(try server.uploads.map(\.key) == ["\(workout.key)/upload", again])
            #expect(
                try server.requests.compactMap { $0.headers["idempotency-key"] }.dropFirst(2).allSatisfy { $0 == again }
            )
        }
    }

    @Test func `a deletion cancels an upload in progress`() async throws {
        let server = try await UploadServer(#"{"kind":"hang"}"#)
        let workout = ServiceWorkout()
        // The server never answers, and the timeout exceeds the test's time limit.
        try await RunningExporter.run(in: folder, upload: upload(server), uploadTimeout: .seconds(600)) { exporter in
            try await exporter.send(workout.messages)
            try await exporter.expectEventually { try server.requests.count == 1 }
            try await exporter.send(workout.deletion)
            try await exporter.expectEventually {
                exporter.metrics.render().contains(#"deliveries_total{outcome="failed",target="upload"} 1"#)
            }
            #expect(exporter.log.lines.allSatisfy { !$0.contains("export failed") })
        }
    }

    @Test func `a drain cancels a hanging upload, and the next start sends it`() async throws {
        let server = try await UploadServer(#"{"kind":"hang"}"#)
        let (broker, clock) = (InMemoryBroker(), ManualClock())
        let workout = ServiceWorkout()
        var began = ContinuousClock.now
        try await RunningExporter.run(in: folder, upload: upload(server), broker: broker, clock: clock) { exporter in
            try await exporter.send(workout.messages)
            try await exporter.expectEventually { try server.requests.count == 1 }
            began = ContinuousClock.now
        }
        #expect(ContinuousClock.now - began < hangLimit)
        try server.script("{}")
        try await RunningExporter.run(in: folder, upload: upload(server), broker: broker, clock: clock) { exporter in
            try await exporter.send(workout.chunks)
            try await exporter.status(of: workout.key, .upload)
            #expect(try server.uploads.map(\.key) == ["\(workout.key)/upload"])
        }
    }

    @Test func `only users with credentials have their workouts uploaded`() async throws {
        let server = try await UploadServer("{}")
        try await RunningExporter.run(in: folder, upload: upload(server)) { exporter in
            let (stranger, anna) = (ServiceWorkout("cleo"), ServiceWorkout())
            try await exporter.send(stranger.messages + anna.messages)
            try await exporter.status(of: anna.key, .upload)
            try await exporter.status(of: stranger.key, .folder)
            #expect(try exporter.retainedStatus(of: stranger.key, .upload) == nil)
            #expect(try server.uploads.count == 1)
        }
    }
}
