import AsyncHTTPClient
import Formats
import Foundation
import ServiceKit
import TestSupport
import Testing
import Workouts

@testable import Exporter

/// Uploads to a server that fails on request of a test.
@Suite(.timeLimit(.minutes(60))) struct UploadTests {
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
        _ url: String, timeout: Duration = hangLimit, minimumBandwidth: Int = UploadTarget.minimumBandwidth,
        file: [UInt8] = Self.bytes,
        _ body: (UploadTarget) async throws -> Result
    ) async throws -> Result {
        try await HTTPClient.withHTTPClient(configuration: UploadTarget.http) { client in
            let configuration = ExportConfiguration.Upload(url: url, format: .gpx, credentials: folder.path)
            let resources = ExportResources(
                clock: ManualClock(), client: client, folder: folder.file("temporary"), uploadTimeout: timeout)
            var target = UploadTarget(configuration, resources) { try $2.append(file) }
            target.minimumBandwidth = minimumBandwidth
            return try await body(target)
        }
    }

    private func deliver(
        _ server: UploadServer, _ step: String = "{}", key: String = "k", timeout: Duration = hangLimit
    ) async throws -> Delivery {
        try server.script(step)
        return try await withTarget(server.url, timeout: timeout) { await $0.deliver(workout, idempotencyKey: key) }
    }

    @Test func `an upload has one file, the workout's name, its user and a key`() async throws {
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

    @Test func `boundaries in the file and the name do not end a part of the form`() async throws {
        let session = workout.workout.session
        let name = "\r\n--pacebus-\(session)-1\r\nContent-Disposition: form-data; name=\"external_id\"\r\n\r\nbert"
        let file = Array("a\r\n--pacebus-\(session)-0--\r\n--pacebus-\(session)-3\r\n".utf8)
        let server = try await UploadServer("{}")
        let delivery = try await withTarget(server.url, file: file) {
            await $0.deliver(workout.revised(name), idempotencyKey: "k")
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
            .failed("503 Service Unavailable", retryAfter: 4_294_967_295)
        ),
        (#"{"status":599}"#, .failed("599")),
        (#"{"status":777}"#, .failed("777: unexpected status")),
        (#"{"status":401}"#, .refused("401 Unauthorized: the server rejects the credentials of 'anna'")),
        (#"{"status":403}"#, .refused("403 Forbidden: the server does not permit uploads of 'anna'")),
        (#"{"status":404}"#, .refused("404 Not Found: the server takes no uploads at this address")),
        (#"{"status":413,"kind":"huge"}"#, .refused("413 Payload Too Large: the file is too large for the server")),
        (#"{"status":415}"#, .refused("415 Unsupported Media Type: the server rejects the file")),
        (#"{"status":422}"#, .refused("422 Unprocessable Entity: the server rejects the file")),
        (
            #"{"status":302,"headers":{"Location":"/elsewhere"}}"#,
            .refused("302 Found: redirects are not followed, to protect the credentials")
        ),
    ])
    func `each status has its outcome`(step: String, outcome: Delivery) async throws {
        let server = try await UploadServer("{}")
        let delivery = try await deliver(server, step)
        #expect(delivery == outcome)
        #expect(try server.requests.count == 1)
    }

    /// The reason of a temporary failure.
    private func failure(_ delivery: Delivery) throws -> String {
        guard case .failed(let reason, nil) = delivery else { throw Unexpected(delivery: delivery) }
        return reason
    }

    private struct Unexpected: Error {
        let delivery: Delivery
    }

    @Test(arguments: ["close", "cut", "store-close", "nonsense"])
    func `a broken connection is retried and nothing is stored twice`(kind: String) async throws {
        let server = try await UploadServer("{}")
        let reason = try failure(try await deliver(server, #"{"kind":"\#(kind)"}"#))
        #expect(reason.hasPrefix("127.0.0.1: "), "\(reason)")
        #expect(reason.utf8.count < 250 && !reason.contains("t0ken"), "\(reason)")
        #expect(try await deliver(server) == .delivered())
        #expect(try server.uploads.count == 1)
        #expect(try server.file(0) == Self.bytes)
    }

    @Test(arguments: ["hang", "store-hang"])
    func `a missing answer ends with a timeout and nothing is stored twice`(kind: String) async throws {
        let server = try await UploadServer("{}")
        let delivery = try await deliver(server, #"{"kind":"\#(kind)"}"#, timeout: .milliseconds(300))
        let reason = try failure(delivery)
        #expect(reason == "127.0.0.1: timeout")
        #expect(try await deliver(server) == .delivered())
        #expect(try server.uploads.count == 1)
    }

    @Test func `a server that stops reading ends with a timeout`() async throws {
        let server = try await UploadServer(#"{"kind":"hang"}"#)
        let delivery = try await withTarget(
            server.url, timeout: .milliseconds(200), minimumBandwidth: 160 << 20,
            file: [UInt8](repeating: 7, count: 16 << 20)
        ) { await $0.deliver(workout, idempotencyKey: "k") }
        let reason = try failure(delivery)
        #expect(reason == "127.0.0.1: timeout")
    }

    @Test func `a large file has a longer timeout`() async throws {
        let server = try await UploadServer("{}")
        let file = [UInt8](repeating: 7, count: 8 << 20)
        let delivery = try await withTarget(server.url, timeout: .milliseconds(1), file: file) {
            await $0.deliver(workout, idempotencyKey: "k")
        }
        #expect(delivery == .delivered())
    }

    @Test func `an unreachable server is retried, and keeps its uploads over a restart`() async throws {
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

    @Test func `a server without TLS at an https address gets no credentials`() async throws {
        let server = try await UploadServer("{}")
        let delivery = try await withTarget("https://127.0.0.1:\(server.port)/", timeout: .seconds(5)) {
            await $0.deliver(workout, idempotencyKey: "k")
        }
        #expect(try failure(delivery).hasPrefix("127.0.0.1: "))
        #expect(try server.requests.isEmpty)
    }

    @Test func `an unknown host is retried`() async throws {
        let delivery = try await withTarget("https://host.invalid/", timeout: .seconds(5)) {
            await $0.deliver(workout, idempotencyKey: "k")
        }
        #expect(try failure(delivery).hasPrefix("host.invalid: "))
    }

    @Test func `a file over the limit is refused`() async throws {
        let server = try await UploadServer("{}")
        let delivery = try await withTarget(
            server.url, file: [UInt8](repeating: 7, count: UploadTarget.sizeLimit + 1)
        ) { await $0.deliver(workout, idempotencyKey: "k") }
        #expect(delivery == .refused("the file has 67108865 bytes; uploads have at most 67108864"))
        #expect(try server.requests.isEmpty)
    }

    @Test func `changed credentials take effect at the next upload`() async throws {
        let server = try await UploadServer("{}")
        try await withTarget(server.url) { target in
            let lines = ["bearer one\n", "BEARER two", "Basic anna:pass word: ß\r\n"]
            for (number, line) in lines.enumerated() {
                try Self.write(line, for: "anna", in: folder)
                let delivery = await target.deliver(workout, idempotencyKey: "\(number)")
                #expect(delivery == .delivered())
            }
        }
        #expect(
            try server.requests.map { $0.headers["authorization"] } == [
                "Bearer one", "Bearer two", "Basic \(Data("anna:pass word: ß".utf8).base64EncodedString())",
            ])
    }

    @Test func `users without credentials are refused`() async throws {
        let server = try await UploadServer("{}")
        try await withTarget(server.url) { target in
            #expect(await target.takes(User("anna")!))
            #expect(await !target.takes(User("bert")!))
            let delivery = await target.deliver(.named("Run", user: "bert"), idempotencyKey: "k")
            #expect(delivery == .refused("no credentials of 'bert'"))
        }
        #expect(try server.requests.isEmpty)
    }

    @Test(arguments: [
        "", "\n", "secret", "bearer", "bearer ", "bearer two secrets", "bearer sécret", "basic secret",
        "digest anna:secret", "bearer secret\nbearer secret", "bearer \u{1}secret",
    ])
    func `an invalid credentials file refuses the upload and is not quoted`(text: String) async throws {
        let server = try await UploadServer("{}")
        try Self.write(text, for: "anna", in: folder)
        guard case .refused(let reason) = try await deliver(server) else { throw NotRefused() }
        #expect(reason.hasPrefix("invalid credentials of 'anna'"))
        #expect(!reason.contains("secret") && !reason.contains("sécret"), "\(reason)")
        #expect(try server.requests.isEmpty)
    }

    @Test func `credentials that others can read, or that are no file, are refused, and no reason has a path`()
        async throws
    {
        let server = try await UploadServer("{}")
        let path = folder.file("anna")
        func refusal() async throws -> String {
            guard case .refused(let reason) = try await deliver(server) else { throw NotRefused() }
            #expect(!reason.contains("/"), "\(reason)")
            return reason
        }
        for mode in [0o604, 0o640] {
            try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
            #expect(
                try await refusal()
                    == "invalid credentials of 'anna': other accounts have access to the file; expected mode 600")
        }
        try Self.write("", for: "anna", in: folder)
        #expect(try await refusal() == "invalid credentials of 'anna': the file is empty")
        try FileManager.default.removeItem(atPath: path)
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        #expect(try await refusal() == "invalid credentials of 'anna': not a regular file")
        try FileManager.default.removeItem(atPath: path)
        try #require(mkfifo(path, 0o600) == 0)
        #expect(try await refusal() == "invalid credentials of 'anna': not a regular file")
        #expect(try server.requests.isEmpty)
    }

    private struct NotRefused: Error {}
}
