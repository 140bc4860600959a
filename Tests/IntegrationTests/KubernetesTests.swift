import Foundation
import TestSupport
import Testing

/// Debian's package is `kubernetes-client`.
private let hasKubectl = FileManager.default.isExecutableFile(atPath: "/usr/bin/kubectl")

/// The manifests of `compose/kubernetes`, without a cluster.
@Suite(
    .disabled(if: Python.lacks("kubernetes_validate, yaml"), "PYTHON has no kubernetes-validate and PyYAML"),
    .enabled(if: hasKubectl, "kubectl is not installed"),
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
        ("base/services.yaml", "minReadySeconds: 5", "minReadySeconds: five"),
        ("base/services.yaml", "minReadySeconds", "minReadySecond"),
        ("base/services.yaml", "readOnlyRootFilesystem: true", "readOnlyRootFileSystem: true"),
        ("base/settings.yaml", "HTTP_PORT: \"9100\"", "HTTP_PORT: 9100"),
        ("base/settings.yaml", "HTTP_PORT: \"9100\"", "HTTP_PORT: \"9100\"\n  HTTP_PORT: \"9101\""),
        // Names of other objects.
        ("base/services.yaml", "selector: {matchLabels: *route-builder}", "selector: {matchLabels: *session-engine}"),
        ("base/services.yaml", "secretName: route-builder", "secretName: route-bilder"),
        ("base/services.yaml", "configMapRef: {name: exporter}", "configMapRef: {name: exporters}"),
        ("base/services.yaml", "claimName: exporter", "claimName: export"),
        ("base/services.yaml", "serviceAccountName: pacebus", "serviceAccountName: default"),
        ("base/services.yaml", "- {name: tls, mountPath", "- {name: certificate, mountPath"),
        ("base/broker.yaml", "serviceName: broker", "serviceName: brokers"),
        ("base/broker.yaml", "value: broker-1", "value: broker-2"),
        ("base/broker.yaml", "pod-name: broker-1", "pod-name: broker-2"),
        ("base/broker.yaml", "replicas: 2", "replicas: 3"),
        ("base/kustomization.yaml", "  - network.yaml\n", ""),
        ("overlays/production/accounts.yaml", "name: broker-accounts", "name: accounts"),
        ("overlays/production/accounts.yaml", "name: account-anna", "name: account-ann"),
        ("overlays/production/network.yaml", "name: stores", "name: store"),
        ("overlays/production/settings.yaml", "PUBLIC_URL", "PUBLIC_URI"),
        ("overlays/production/monitoring.yaml", "part-of: pacebus", "part-of: pace"),
        ("overlays/production/monitoring.yaml", "port: health-tls", "port: tls-health"),
        ("base/autoscaling.yaml", "kind: Deployment, name: route-builder", "kind: Deployment, name: router"),
        ("base/autoscaling.yaml", "kind: Deployment, name: dashboard", "kind: Deployment, name: dash"),
        ("base/network.yaml", "{app.kubernetes.io/name: dashboard}", "{app.kubernetes.io/name: dash}"),
        // Ports.
        ("base/services.yaml", "port: health}", "port: helth}"),
        ("base/services.yaml", "targetPort: https", "targetPort: http"),
        ("base/broker.yaml", "targetPort: mqtts", "targetPort: tls"),
        ("base/network.yaml", "port: https}", "port: http}"),
        ("base/network.yaml", "port: 1883", "port: 1884"),
        // Settings, executables, files, metrics, the image.
        ("base/services.yaml", "name: STORE_URL,", "name: STORE_URI,"),
        ("base/services.yaml", "name: MQTT_PASSWORD_FILE", "name: MQTT_PASSWD_FILE"),
        ("base/services.yaml", "--shards, auto", "--shard, auto"),
        ("base/services.yaml", "$(POSTGRES)", "$(POSTGRESQL)"),
        ("base/services.yaml", "/run/secrets/store", "/run/secrets/stores"),
        ("base/services.yaml", "name: LOGIN_KEY_FILE", "name: LOGIN_KEYS_FILE"),
        ("base/services.yaml", "/run/secrets/login-key", "/run/secrets/key"),
        ("base/services.yaml", "args: [$(NAME)]", "args: [$(NAME), --shards, auto]"),
        ("base/services.yaml", "key: address", "key: addresses"),
        ("base/services.yaml", "image: pacebus", "image: pacebus-engine"),
        ("overlays/production/kustomization.yaml", "name: pacebus", "name: bus"),
        ("base/broker.yaml", "FIRST_PORT", "FIRST_PORTS"),
        ("base/broker.yaml", "compose/haproxy.cfg", "compose/proxy.cfg"),
        ("base/broker.yaml", "path: tls.crt.key", "path: tls.key}, {key: tls.pem, path: tls.pem"),
        ("base/settings.yaml", "EXPORT_FOLDER", "EXPORTS_FOLDER"),
        ("base/settings.yaml", "tls.key", "tls.pem"),
        ("base/autoscaling.yaml", "pacebus_loop_busy_ratio", "pacebus_loop_busy"),
        // What has to stay.
        ("base/services.yaml", "path: /readyz", "path: /livez"),
        (
            "base/services.yaml", "timeoutSeconds: 3\n                failureThreshold: 2",
            "timeoutSeconds: 1\n                failureThreshold: 2"
        ),
        ("base/services.yaml", "terminationGracePeriodSeconds: 1\n", "terminationGracePeriodSeconds: 30\n"),
        ("base/broker.yaml", "terminationGracePeriodSeconds: 1\n", "terminationGracePeriodSeconds: 30\n"),
        ("base/broker.yaml", "defaultMode: 0440", "defaultMode: 0444"),
        ("base/services.yaml", "defaultMode: 0440", "defaultMode: 0444"),
        ("base/services.yaml", "maxUnavailable: 0", "maxUnavailable: 1"),
        ("base/services.yaml", "accessModes: [ReadWriteMany]", "accessModes: [ReadWriteOnce]"),
        (
            "base/services.yaml", "replicas: 2\n      selector: {matchLabels: *weather-fetcher}",
            "replicas: 1\n      selector: {matchLabels: *weather-fetcher}"
        ),
        ("base/services.yaml", "allowPrivilegeEscalation: false", "allowPrivilegeEscalation: true"),
        ("base/network.yaml", "policyTypes: [Ingress, Egress]", "policyTypes: [Ingress]"),
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
