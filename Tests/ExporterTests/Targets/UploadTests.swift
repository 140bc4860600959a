import AsyncHTTPClient
import Foundation
import TestSupport
import Testing
import Workouts

@testable import Exporter

/// What becomes of uploads, against a server that behaves as badly as a test asks.
@Suite(.timeLimit(.minutes(5))) struct UploadTests {
    private let folder: TemporaryFolder
    private let workout = ExportedWorkout.named("Runde um den Grunewaldsee – \"schnell\" 🏃")
    private static let bytes: [UInt8] = (0..<70_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }

    init() throws {
        folder = try TemporaryFolder()
        try Self.write("bearer t0ken.of-anna", for: "anna", in: folder)
    }

    private static func write(_ text: String, for user: String, in folder: TemporaryFolder) throws {
        let path = try folder.write(text, to: user)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
    }

    private func withTarget<Result>(
        _ url: String, patience: Duration = UploadTarget.patience, slowestLine: Int = UploadTarget.slowestLine,
        file: [UInt8] = Self.bytes,
        _ body: (UploadTarget) async throws -> Result
    ) async throws -> Result {
        try await HTTPClient.withHTTPClient(configuration: UploadTarget.http) { client in
            let configuration = ExportConfiguration.Upload(url: url, format: .gpx, credentials: folder.path)
            var target = UploadTarget(configuration, clock: ManualClock(), client: client, patience: patience) { _, _ in
                file
            }
            target.slowestLine = slowestLine
            return try await body(target)
        }
    }

    private func deliver(
        _ server: UploadServer, _ step: String = "{}", key: String = "k", patience: Duration = UploadTarget.patience
    ) async throws -> Delivery {
        try server.script(step)
        return try await withTarget(server.url, patience: patience) { await $0.deliver(workout, key: key) }
    }

    @Test func `a workout is uploaded as one file with its name, whose it is, and a key`() async throws {
        let server = try await UploadServer("{}")
        #expect(try await deliver(server, key: "anna/1:upload") == .delivered())
        let session = workout.workout.session
        let upload = try #require(try server.uploads.first)
        #expect(upload.key == "anna/1:upload")
        #expect(upload.filename == "2026-11-21T061503Z-runde-um-den-grunewaldsee-schnell-\(session).gpx")
        #expect(upload.type == "application/gpx+xml")
        #expect(upload.name == workout.workout.name)
        #expect(upload.externalID == "anna/\(session)")
        #expect(try server.file(0) == Self.bytes)
        let request = try #require(try server.requests.first)
        #expect(request.path == "/uploads")
        #expect(request.headers["authorization"] == "Bearer t0ken.of-anna")
        #expect(request.headers["user-agent"] == "pacebus/0.1.0")
        #expect(request.headers["content-length"].flatMap(Int.init) ?? 0 > Self.bytes.count)
    }

    @Test func `what stands in the file and the name ends no part of the form`() async throws {
        let session = workout.workout.session
        let name = "\r\n--pacebus-\(session)-1\r\nContent-Disposition: form-data; name=\"external_id\"\r\n\r\nbert"
        let file = Array("a\r\n--pacebus-\(session)-0--\r\n--pacebus-\(session)-3\r\n".utf8)
        let server = try await UploadServer("{}")
        let delivery = try await withTarget(server.url, file: file) {
            await $0.deliver(workout.revised(name), key: "k")
        }
        #expect(delivery == .delivered())
        #expect(try server.file(0) == file)
        #expect(try server.uploads.first?.externalID == "anna/\(session)")
        #expect(try server.requests.first?.headers["content-type"]?.hasSuffix("-2") == true)
    }

    @Test(arguments: [
        ("{}", Delivery.delivered()), (#"{"status":201}"#, .delivered()), (#"{"status":204}"#, .delivered()),
        (#"{"status":409}"#, .delivered()),
        (#"{"kind":"store-half"}"#, .delivered()), (#"{"kind":"huge"}"#, .delivered()),
        (#"{"status":500}"#, .failed("500 Internal Server Error")),
        (#"{"status":408}"#, .failed("408 Request Timeout")),
        (#"{"status":425}"#, .failed("425")),
        (#"{"status":429,"headers":{"Retry-After":"77"}}"#, .failed("429 Too Many Requests", retryAfter: 77)),
        (
            #"{"status":503,"headers":{"Retry-After":"Wed, 01 Jan 2025 00:02:00 GMT"}}"#,
            .failed("503 Service Unavailable", retryAfter: 120)
        ),
        (#"{"status":503,"headers":{"Retry-After":"soon"}}"#, .failed("503 Service Unavailable")),
        (
            #"{"status":503,"headers":{"Retry-After":"4294967295"}}"#,
            .failed("503 Service Unavailable", retryAfter: 86_400)
        ),
        (#"{"status":599}"#, .failed("599")),
        (#"{"status":777}"#, .failed("777: not an answer to an upload")),
        (#"{"status":401}"#, .refused("401 Unauthorized: the credentials of anna are not accepted")),
        (#"{"status":403}"#, .refused("403 Forbidden: anna may not upload there")),
        (#"{"status":404}"#, .refused("404 Not Found: uploads are not taken at this address")),
        (#"{"status":413,"kind":"huge"}"#, .refused("413 Payload Too Large: the file is too large")),
        (#"{"status":415}"#, .refused("415 Unsupported Media Type: the file is not accepted")),
        (#"{"status":422}"#, .refused("422 Unprocessable Entity: the file is not accepted")),
        (
            #"{"status":302,"headers":{"Location":"/elsewhere"}}"#,
            .refused("302 Found: the address is another, and credentials are not sent there")
        ),
    ])
    func `each answer has its outcome`(step: String, outcome: Delivery) async throws {
        let server = try await UploadServer("{}")
        let delivery = try await deliver(server, step)
        #expect(delivery == outcome)
        #expect(try server.requests.count == 1)
    }

    /// The reason of a failure that may pass.
    private func failure(_ delivery: Delivery) throws -> String {
        guard case .failed(let reason, nil) = delivery else { throw Unexpected(delivery: delivery) }
        return reason
    }

    private struct Unexpected: Error {
        let delivery: Delivery
    }

    @Test(arguments: ["close", "cut", "store-close", "nonsense"])
    func `a connection that breaks is tried again, and nothing is stored twice`(kind: String) async throws {
        let server = try await UploadServer("{}")
        let reason = try failure(try await deliver(server, #"{"kind":"\#(kind)"}"#))
        #expect(reason.hasPrefix("127.0.0.1: "), "\(reason)")
        #expect(reason.utf8.count < 250 && !reason.contains("t0ken"), "\(reason)")
        #expect(try await deliver(server) == .delivered())
        #expect(try server.uploads.count == 1)
        #expect(try server.file(0) == Self.bytes)
    }

    @Test(arguments: ["hang", "store-hang"])
    func `an answer that does not come is given up in time, and nothing is stored twice`(kind: String) async throws {
        let server = try await UploadServer("{}")
        let delivery = try await deliver(server, #"{"kind":"\#(kind)"}"#, patience: .milliseconds(300))
        let reason = try failure(delivery)
        #expect(reason == "127.0.0.1: no answer in time")
        #expect(try await deliver(server) == .delivered())
        #expect(try server.uploads.count == 1)
    }

    @Test func `a server that does not read on is given up in time`() async throws {
        let server = try await UploadServer(#"{"kind":"hang"}"#)
        let delivery = try await withTarget(
            server.url, patience: .milliseconds(200), slowestLine: 160 << 20,
            file: [UInt8](repeating: 7, count: 16 << 20)
        ) { await $0.deliver(workout, key: "k") }
        let reason = try failure(delivery)
        #expect(reason == "127.0.0.1: no answer in time")
    }

    @Test func `a large file has the time that a slow line takes for it`() async throws {
        let server = try await UploadServer("{}")
        let file = [UInt8](repeating: 7, count: 8 << 20)
        let delivery = try await withTarget(server.url, patience: .milliseconds(1), file: file) {
            await $0.deliver(workout, key: "k")
        }
        #expect(delivery == .delivered())
    }

    @Test func `a server that is away is tried again, and knows after a restart what it has`() async throws {
        let server = try await UploadServer("{}")
        #expect(try await deliver(server) == .delivered())
        server.stop()
        #expect(try failure(try await deliver(server)) == "127.0.0.1: Connection refused")
        try await server.start()
        #expect(try await deliver(server) == .delivered())
        #expect(try await deliver(server, #"{"known":200}"#) == .delivered())
        #expect(try await deliver(server, key: "another") == .delivered())
        #expect(try server.uploads.map(\.key) == ["k", "another"])
    }

    @Test func `a server without TLS where TLS is wanted gets no credentials`() async throws {
        let server = try await UploadServer("{}")
        let delivery = try await withTarget("https://127.0.0.1:\(server.port)/", patience: .seconds(5)) {
            await $0.deliver(workout, key: "k")
        }
        #expect(try failure(delivery).hasPrefix("127.0.0.1: "))
        #expect(try server.requests.isEmpty)
    }

    @Test func `a host that is none is tried again`() async throws {
        let delivery = try await withTarget("https://host.invalid/", patience: .seconds(5)) {
            await $0.deliver(workout, key: "k")
        }
        #expect(try failure(delivery).hasPrefix("host.invalid: "))
    }

    @Test func `a file beyond the limit is not sent`() async throws {
        let server = try await UploadServer("{}")
        let delivery = try await withTarget(
            server.url, file: [UInt8](repeating: 7, count: UploadTarget.sizeLimit + 1)
        ) { await $0.deliver(workout, key: "k") }
        #expect(delivery == .refused("the file has 67108865 bytes, and more than 67108864 are not uploaded"))
        #expect(try server.requests.isEmpty)
    }

    @Test func `credentials that change count from the next upload on`() async throws {
        let server = try await UploadServer("{}")
        try await withTarget(server.url) { target in
            let lines = ["bearer one\n", "BEARER two", "Basic anna:pass word: ß\r\n"]
            for (number, line) in lines.enumerated() {
                try Self.write(line, for: "anna", in: folder)
                let delivery = await target.deliver(workout, key: "\(number)")
                #expect(delivery == .delivered())
            }
        }
        #expect(
            try server.requests.map { $0.headers["authorization"] } == [
                "Bearer one", "Bearer two", "Basic \(Data("anna:pass word: ß".utf8).base64EncodedString())",
            ])
    }

    @Test func `nobody without credentials is uploaded for`() async throws {
        let server = try await UploadServer("{}")
        try await withTarget(server.url) { target in
            #expect(target.takes(User("anna")!))
            #expect(!target.takes(User("bert")!))
            let delivery = await target.deliver(.named("Run", user: "bert"), key: "k")
            #expect(delivery == .refused("there are no credentials of bert"))
        }
        #expect(try server.requests.isEmpty)
    }

    @Test(arguments: [
        "", "\n", "secret", "bearer", "bearer ", "bearer two secrets", "bearer sécret", "basic secret",
        "digest anna:secret", "bearer secret\nbearer secret", "bearer \u{1}secret",
    ])
    func `a file without credentials in it refuses the upload and is not quoted`(text: String) async throws {
        let server = try await UploadServer("{}")
        try Self.write(text, for: "anna", in: folder)
        guard case .refused(let reason) = try await deliver(server) else { throw NotRefused() }
        #expect(reason.hasPrefix("the credentials of anna"))
        #expect(!reason.contains("secret") && !reason.contains("sécret"), "\(reason)")
        #expect(try server.requests.isEmpty)
    }

    @Test func `credentials that every user can read are not used`() async throws {
        let server = try await UploadServer("{}")
        try FileManager.default.setAttributes([.posixPermissions: 0o604], ofItemAtPath: folder.file("anna"))
        guard case .refused(let reason) = try await deliver(server) else { throw NotRefused() }
        #expect(reason.hasPrefix("the credentials of anna: ") && reason.contains("is readable by every user"))
        try FileManager.default.removeItem(atPath: folder.file("anna"))
        try FileManager.default.createDirectory(atPath: folder.file("anna"), withIntermediateDirectories: false)
        try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: folder.file("anna"))
        let problem = try failure(try await deliver(server))
        #expect(problem.hasPrefix("the credentials of anna: cannot read "))
        #expect(try server.requests.isEmpty)
    }

    private struct NotRefused: Error {}
}
