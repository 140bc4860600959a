import Foundation
import TestSupport
import Testing

/// `compose.yaml` as read by Python, without a container engine.
private enum ComposeFile {
    static let compose = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../compose").standardizedFileURL
    static let file = compose.appending(path: "compose.yaml").path(percentEncoded: false)

    /// Runs Python. A failure carries its output.
    @discardableResult static func run(_ arguments: [String]) async throws -> Data {
        let folder = try TemporaryFolder()
        try await ChildProcess.run([Python.interpreter] + arguments, log: folder.file("log"))
        return try Data(contentsOf: URL(filePath: folder.file("log")))
    }

    struct Document: Decodable {
        struct Service: Decodable {
            var user: String
            var readOnly: Bool
            var capDrop: [String]
            var securityOpt: [String]
            var image: String
            var restart: String
            var privileged: Bool?
            var capAdd: [String]?
            var ports: [String]?
            var profiles: [String]?
            var secrets: [String]?
            var environment: [String: String]?
            var healthcheck: Healthcheck?
        }
        struct Healthcheck: Decodable {
            var test: [String]
        }
        struct Secret: Decodable {
            var file: String
        }
        var services: [String: Service]
        var secrets: [String: Secret]
    }

    static func read() async throws -> Document {
        let script = "import json, sys, yaml; json.dump(yaml.safe_load(open(sys.argv[1])), sys.stdout)"
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        return try decoder.decode(Document.self, from: await run(["-c", script, file]))
    }
}

@Suite(.disabled(if: Python.lacks("check_jsonschema, yaml"), "PYTHON has no check-jsonschema and PyYAML"))
struct ComposeFileTests {
    @Test func `compose.yaml is valid`() async throws {
        try await ComposeFile.run([
            "-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec", ComposeFile.file,
        ])
    }

    @Test func `it runs the services of compose/up`() async throws {
        let folder = try TemporaryFolder()
        let common = ComposeFile.compose.appending(path: "common.sh").path(percentEncoded: false)
        try await ChildProcess.run(
            ["bash", "-c", "source \(common) && echo ${services[@]}"], log: folder.file("services"))
        let list = try String(contentsOfFile: folder.file("services"), encoding: .utf8)
        let services = try await ComposeFile.read().services.filter { $0.value.profiles == nil }
        let names = list.split(whereSeparator: \.isWhitespace).map(String.init)
        #expect(Set(services.keys) == Set(names + ["broker"]))
    }

    @Test func `each container has only the rights it needs`() async throws {
        let document = try await ComposeFile.read()
        for (name, service) in document.services {
            #expect(service.image == "pacebus", "\(name)")
            #expect(service.user.hasPrefix("${PACEBUS_USER:?"), "\(name)")
            #expect(service.readOnly, "\(name)")
            #expect(service.capDrop == ["ALL"], "\(name)")
            #expect(service.securityOpt == ["no-new-privileges:true"], "\(name)")
            #expect(service.privileged == nil && service.capAdd == nil, "\(name)")
            #expect((service.ports ?? []).allSatisfy { $0.hasPrefix("127.0.0.1:") }, "\(name)")
        }
    }

    @Test func `each container has its own password secret only, and a health check`() async throws {
        let document = try await ComposeFile.read()
        for (name, service) in document.services where service.profiles == nil {
            #expect(service.healthcheck?.test.first == "CMD", "\(name)")
            guard name != "broker" else { continue }
            #expect(service.secrets == ["_\(name)"])
            #expect(document.secrets["_\(name)"]?.file == "../data/secrets/_\(name)")
            #expect(service.environment?["MQTT_PASSWORD_FILE"] == "/run/secrets/_\(name)")
            #expect(service.environment?["MQTT_URL"] == "mqtt://_\(name)@broker:1883")
        }
    }
}
