import Bus
import Formats
import Foundation
import TestSupport
import Testing
import Workouts

@testable import Exporter

/// Repeated kills of the exporter while a server accepts uploads and does not respond.
@Suite(.serialized, .timeLimit(.minutes(60)))
struct ExportKillTests {
    @Test func `each workout is uploaded once and has its files, however often the exporter is killed`() async throws {
        let server = try await UploadServer(#"{"kind":"store-hang"}"#)
        defer { server.stop() }
        let credentials = try TemporaryFolder()
        let user = try #require(User("demo"))
        try Data("bearer token-of-demo\n".utf8).write(to: URL(filePath: credentials.file("demo")))
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: credentials.file("demo"))
        let installation = try await Installation(exportSettings: [
            "--upload-url", server.url, "--upload-credentials", credentials.path,
        ])
        let keys = (0..<6).map { _ in SessionKey(user, SessionID(UUID())) }
        let recording = installation.folder.file("recording.fit")
        try await BusObserver.run(port: installation.broker.port) { observer in
            for (number, key) in keys.enumerated() {
                try Data(FITFixture.workout(start: 1_700_000_000 + number * 1_000, duration: 60)).write(
                    to: URL(filePath: recording))
                let count = try server.requests.count
                let device = try installation.replay(recording, key)
                #expect(await device.finish() == 0, "\(installation.deviceLog)")
                // Each kill follows a new request at the server.
                let isRequested = try await eventually { try server.requests.count > count }
                #expect(isRequested)
                try installation.kill(.exporter)
            }
            try server.script(#"{}"#)
            // Hanging requests end with the process.
            try installation.kill(.exporter)
            for key in keys {
                for target in [Target.folder, .upload] { _ = try await observer.exported(key, to: target) }
            }
        }
        #expect(try server.uploads.map(\.externalID).sorted() == keys.map(\.description).sorted())
        #expect(try Set(server.requests.compactMap { $0.headers["idempotency-key"] }).count == keys.count)
        let files = try FileManager.default.contentsOfDirectory(atPath: "\(installation.exports)/demo")
        #expect(files.count == keys.count * ExportFormat.allCases.count)
        #expect(files.allSatisfy { !$0.hasPrefix(".") })
    }
}
