import Foundation
import TestSupport
import Testing

/// The manifests of `compose/kubernetes`, without a cluster.
@Suite(
    .disabled(if: Python.lacks("kubernetes_validate, yaml"), "PYTHON has no kubernetes-validate and PyYAML"),
    .timeLimit(.minutes(60)))
struct KubernetesTests {
    private static let tests = URL(filePath: #filePath).deletingLastPathComponent()
    private static let compose = tests.appending(path: "../../compose").standardizedFileURL

    /// A folder with what `--help` of each executable in the manifests prints.
    private func helps() async throws -> TemporaryFolder {
        let folder = try TemporaryFolder()
        for name in [
            "session-engine", "metrics-aggregator", "route-builder", "weather-fetcher", "exporter",
            "live-activity-publisher", "virtual-run", "importer", "dashboard",
        ] {
            #expect(try await Installation.run(name, ["--help"], log: folder.file(name)).finish() == 0)
        }
        return folder
    }

    /// Checks manifests. Returns the problems, one on each line.
    private func check(_ manifests: String, _ helps: TemporaryFolder) async throws -> String {
        let folder = try TemporaryFolder()
        let checker = try ChildProcess(
            [
                Python.interpreter, Self.tests.appending(path: "kubernetes_check.py").path, manifests,
                Self.compose.path, helps.path,
            ], log: folder.file("log"))
        let status = await checker.finish()
        let text = try String(contentsOfFile: folder.file("log"), encoding: .utf8)
        #expect(!text.contains("Traceback"), "\(text)")
        #expect((status == 0) == (text == "\n"), "\(text)")
        return text
    }

    @Test func `the manifests follow the schema, and every name in them exists`() async throws {
        #expect(try await check(Self.compose.appending(path: "kubernetes").path, helps()) == "\n")
    }

    /// In a file, a text and what takes its place.
    private static let mistakes = [
        // Types and keys.
        ("services.yaml", "minReadySeconds: 5", "minReadySeconds: five"),
        ("services.yaml", "minReadySeconds", "minReadySecond"),
        ("services.yaml", "readOnlyRootFilesystem: true", "readOnlyRootFileSystem: true"),
        ("base.yaml", "HTTP_PORT: \"9100\"", "HTTP_PORT: 9100"),
        ("base.yaml", "HTTP_PORT: \"9100\"", "HTTP_PORT: \"9100\"\n  HTTP_PORT: \"9101\""),
        // Names of other objects.
        ("services.yaml", "selector: {matchLabels: *route-builder}", "selector: {matchLabels: *session-engine}"),
        ("services.yaml", "secretName: route-builder", "secretName: route-bilder"),
        ("services.yaml", "configMapRef: {name: exporter}", "configMapRef: {name: exporters}"),
        ("services.yaml", "claimName: exporter", "claimName: export"),
        ("services.yaml", "serviceAccountName: pacebus", "serviceAccountName: default"),
        ("services.yaml", "- {name: tls, mountPath", "- {name: certificate, mountPath"),
        ("broker.yaml", "serviceName: broker", "serviceName: brokers"),
        ("autoscaling.yaml", "kind: Deployment, name: route-builder", "kind: Deployment, name: router"),
        ("autoscaling.yaml", "kind: Deployment, name: dashboard", "kind: Deployment, name: dash"),
        ("network.yaml", "{app.kubernetes.io/name: dashboard}", "{app.kubernetes.io/name: dash}"),
        // Ports.
        ("services.yaml", "port: health}", "port: helth}"),
        ("services.yaml", "targetPort: https", "targetPort: http"),
        ("broker.yaml", "targetPort: mqtts", "targetPort: tls"),
        ("network.yaml", "port: https}", "port: http}"),
        ("network.yaml", "port: 1883", "port: 1884"),
        // Settings, executables, files, metrics, the image.
        ("services.yaml", "name: STORE_URL,", "name: STORE_URI,"),
        ("services.yaml", "name: MQTT_PASSWORD_FILE", "name: MQTT_PASSWD_FILE"),
        ("services.yaml", "--shards, auto", "--shard, auto"),
        ("services.yaml", "$(POSTGRES)", "$(POSTGRESQL)"),
        ("services.yaml", "/run/secrets/store", "/run/secrets/stores"),
        ("services.yaml", "name: LOGIN_KEY_FILE", "name: LOGIN_KEYS_FILE"),
        ("services.yaml", "/run/secrets/login-key", "/run/secrets/key"),
        ("services.yaml", "args: [$(NAME)]", "args: [$(NAME), --shards, auto]"),
        ("services.yaml", "key: address", "key: addresses"),
        ("services.yaml", "pacebus:1", "pacebus-engine:1"),
        ("base.yaml", "EXPORT_FOLDER", "EXPORTS_FOLDER"),
        ("base.yaml", "tls.key", "tls.pem"),
        ("autoscaling.yaml", "pacebus_loop_busy_ratio", "pacebus_loop_busy"),
        // What has to stay.
        ("services.yaml", "path: /readyz", "path: /livez"),
        ("services.yaml", "defaultMode: 0440", "defaultMode: 0444"),
        ("services.yaml", "maxUnavailable: 0", "maxUnavailable: 1"),
        ("services.yaml", "accessModes: [ReadWriteMany]", "accessModes: [ReadWriteOnce]"),
        (
            "services.yaml", "replicas: 2\n      selector: {matchLabels: *weather-fetcher}",
            "replicas: 1\n      selector: {matchLabels: *weather-fetcher}"
        ),
        ("services.yaml", "allowPrivilegeEscalation: false", "allowPrivilegeEscalation: true"),
        ("network.yaml", "policyTypes: [Ingress, Egress]", "policyTypes: [Ingress]"),
    ]

    @Test(.enabled(if: Tier.isNightly, "takes long, without NIGHTLY=1"))
    func `each mistake in a manifest is found`() async throws {
        let helps = try await helps()
        for (file, text, mistake) in Self.mistakes {
            let folder = try TemporaryFolder()
            let manifests = folder.file("manifests")
            try FileManager.default.copyItem(
                atPath: Self.compose.appending(path: "kubernetes").path, toPath: manifests)
            let path = "\(manifests)/\(file)"
            let content = try String(contentsOfFile: path, encoding: .utf8)
            let range = try #require(content.range(of: text), "\(file) has no \(text)")
            try Data(content.replacingCharacters(in: range, with: mistake).utf8).write(to: URL(filePath: path))
            #expect(try await check(manifests, helps) != "\n", "\(mistake)")
        }
    }
}
