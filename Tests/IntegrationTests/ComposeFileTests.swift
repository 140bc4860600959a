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
            var logging: Logging
            var privileged: Bool?
            var capAdd: [String]?
            var ports: [String]?
            var profiles: [String]?
            var secrets: [String]?
            var environment: [String: String]?
            var memLimit: String?
            var pidsLimit: Int?
            var ulimits: [String: Int]?
            var entrypoint: [String]?
            var volumes: [Volume]?
            var healthcheck: Healthcheck?
        }
        struct Logging: Decodable {
            var driver: String
            var options: [String: String]
        }
        /// `name:path`, or a folder of the host.
        struct Volume: Decodable {
            var name: String?
            var source: String?
            private enum Key: CodingKey { case source }

            init(from decoder: any Decoder) throws {
                name = try? decoder.singleValueContainer().decode(String.self)
                source = try? decoder.container(keyedBy: Key.self).decode(String.self, forKey: .source)
            }
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
            #expect(service.image == (name == "postgres" ? "pacebus-postgres" : "pacebus"), "\(name)")
            #expect(service.user.hasPrefix("${PACEBUS_USER:?"), "\(name)")
            #expect(service.readOnly, "\(name)")
            #expect(service.capDrop == ["ALL"], "\(name)")
            #expect(service.securityOpt == ["no-new-privileges:true"], "\(name)")
            #expect(service.privileged == nil && service.capAdd == nil, "\(name)")
            // TLS alone is open to other machines without a setting.
            var addresses = ["127.0.0.1:", "${WEB_HOST:-127.0.0.1}:"]
            if name == "haproxy" { addresses.append("${TLS_ADDRESS:-0.0.0.0}:") }
            #expect((service.ports ?? []).allSatisfy { port in addresses.contains { port.hasPrefix($0) } }, "\(name)")
        }
    }

    @Test func `each container has limits of memory, processes and files`() async throws {
        for (name, service) in try await ComposeFile.read().services {
            #expect(service.memLimit == (name == "broker" ? "1536m" : "1g"), "\(name)")
            #expect(service.pidsLimit == (name == "postgres" ? 512 : 128), "\(name)")
            #expect(service.logging.driver == "json-file", "\(name)")
            #expect(service.logging.options == ["max-size": "10m", "max-file": "2"], "\(name)")
            let hasConnections = ["broker", "dashboard", "haproxy"].contains(name)
            #expect(service.ulimits == ["nofile": hasConnections ? 65_536 : 4_096], "\(name)")
        }
    }

    @Test func `containers have only the folders of the host that they need`() async throws {
        let needed = [
            "broker": ["../data/broker"], "user": ["../data/broker", "../data/secrets"],
            "exporter": ["${UPLOAD_CREDENTIALS:-/dev/null}"],
            "backup": ["../data/broker", "../data/secrets", "${BACKUP_FOLDER:-../data/backups}"],
        ]
        for (name, service) in try await ComposeFile.read().services {
            #expect((service.volumes ?? []).compactMap(\.source) == needed[name] ?? [], "\(name)")
        }
    }

    @Test func `a backup has the store of each service`() async throws {
        let services = try await ComposeFile.read().services
        let volumes = Set((services["backup"]?.volumes ?? []).compactMap(\.name))
        for (name, service) in services where service.environment?["STORE_URL"] != nil {
            #expect(volumes.contains("\(name):/volumes/\(name)"), "\(name)")
        }
    }

    @Test func `base images are build arguments, so that a digest can fix them`() throws {
        let text = try String(contentsOf: ComposeFile.compose.appending(path: "Dockerfile"), encoding: .utf8)
        let images = text.split(separator: "\n").filter { $0.hasPrefix("FROM ") }
        #expect(
            images == [
                "FROM ${SWIFT_IMAGE} AS build", "FROM ${DEBIAN_IMAGE} AS postgres", "FROM ${DEBIAN_IMAGE}",
            ])
        let file = try String(contentsOfFile: ComposeFile.file, encoding: .utf8)
        #expect(file.contains("SWIFT_IMAGE: ${SWIFT_IMAGE:-swift:") && file.contains("DEBIAN_IMAGE: ${DEBIAN_IMAGE:-"))
    }

    @Test(.enabled(if: geteuid() == 0, "a test can change its user only as root"))
    func `a container refuses to run as root, and runs its command as another user`() async throws {
        let folder = try TemporaryFolder()
        let container = ComposeFile.compose.appending(path: "container").path(percentEncoded: false)
        let dockerfile = try String(contentsOf: ComposeFile.compose.appending(path: "Dockerfile"), encoding: .utf8)
        #expect(dockerfile.hasSuffix("ENTRYPOINT [\"compose/container\"]\n"))
        #expect(try await ComposeFile.read().services["user"]?.entrypoint == ["compose/container", "compose/user"])
        // From standard input: the other user may lack access to this folder.
        for (user, expected) in [("0", "do not run as root"), ("65534", "uid=65534")] {
            let log = folder.file(user)
            let process = try ChildProcess(
                [
                    "bash", "-c",
                    "exec setpriv --reuid \(user) --regid \(user) --clear-groups bash -s id < \(container)",
                ], log: log)
            #expect(await process.finish() == (user == "0" ? 1 : 0))
            #expect(try String(contentsOfFile: log, encoding: .utf8).contains(expected))
        }
    }

    @Test func `each container has its own secrets only, and a health check`() async throws {
        let document = try await ComposeFile.read()
        let stored = document.services.filter { $0.value.environment?["STORE_URL"] != nil }.keys.map { "_\($0)" }
        #expect(Set(document.services["postgres"]?.secrets ?? []) == Set(stored))
        #expect(document.secrets["_login-key"]?.file == "../data/secrets/_login-key")
        #expect(document.services["dashboard"]?.environment?["LOGIN_KEY_FILE"] == "/run/secrets/_login-key")
        let others = [
            "dashboard": ["_login-key", "server.pem", "server.pem.key"], "live-activity-publisher": ["apns-key"],
            "weather-fetcher": ["weatherkit-key"],
        ]
        for (name, service) in document.services where service.profiles == nil {
            #expect(service.healthcheck?.test.first == "CMD", "\(name)")
            guard name != "broker" else { continue }
            #expect(service.secrets == ["_\(name)"] + (others[name] ?? []))
            #expect(document.secrets["_\(name)"]?.file == "../data/secrets/_\(name)")
            #expect(service.environment?["MQTT_PASSWORD_FILE"] == "/run/secrets/_\(name)")
            #expect(service.environment?["MQTT_URL"] == "mqtt://_\(name)@broker:1883")
        }
    }
}
