import MQTT
import ServiceKit

extension DashboardConfiguration {
    /// Resolves each setting: flag, then environment variable, then default. An empty variable counts as absent.
    ///
    /// - Throws: `SettingError` for the first invalid setting.
    static func resolve(
        _ options: DashboardOptions, environment: [String: String]
    ) throws(SettingError) -> DashboardConfiguration {
        let values = SettingValues(environment: environment)
        var configuration = DashboardConfiguration()
        configuration.host = values.text(.webHost, options.host) ?? configuration.host
        if let text = values.text(.webPort, options.port) {
            guard let port = UInt16(text) else { throw SettingError(.webPort, refusing: text) }
            configuration.port = Int(port)
        }
        configuration.certificateFile = try values.file(.tlsCertFile, options.certificateFile)
        configuration.keyFile = try values.file(.tlsKeyFile, options.keyFile)
        if (configuration.certificateFile == nil) != (configuration.keyFile == nil) {
            let isKeyMissing = configuration.keyFile == nil
            throw SettingError(
                isKeyMissing ? .tlsCertFile : .tlsKeyFile,
                "requires \(isKeyMissing ? "--tls-key-file (TLS_KEY_FILE)" : "--tls-cert-file (TLS_CERT_FILE)")")
        }
        configuration.publicURL = try values.text(.publicURL, options.publicURL).map(publicURL)
        configuration.trustedProxy = values.text(.trustedProxy, options.trustedProxy)
        if let proxy = configuration.trustedProxy {
            guard let address = IPAddress.canonical(proxy) else {
                throw SettingError(.trustedProxy, refusing: proxy)
            }
            configuration.trustedProxy = address
            guard configuration.publicURL?.hasPrefix("https://") == true else {
                throw SettingError(.trustedProxy, "requires --public-url (PUBLIC_URL) with https://")
            }
        }
        try configuration.checkAddress()
        configuration.tiles = try values.text(.tiles, options.tiles).map(Tiles.init)
        if let path = values.text(.loginKeyFile, options.loginKeyFile) {
            let text: String
            do throws(PasswordFile.Problem) {
                text = try PasswordFile(path: path).read().value
            } catch {
                throw SettingError(.loginKeyFile, "\(error)")
            }
            guard let keys = LoginKeys(text) else {
                throw SettingError(.loginKeyFile, "'\(path)' has a line that is no key; expected 64 hex digits a line")
            }
            configuration.loginKeys = keys
        }
        if let text = values.text(.webSocketOrigins, options.origins) {
            guard let origins = Origins(text) else { throw SettingError(.webSocketOrigins, refusing: text) }
            configuration.origins = origins
        }
        configuration.pairings = values.text(.pairingsFolder, options.pairingsFolder).map(Pairings.init)
        configuration.webFolder = values.text(.webFolder, options.webFolder) ?? configuration.webFolder
        return configuration
    }

    /// The origin of an address without a path.
    private static func publicURL(_ text: String) throws(SettingError) -> String {
        let text = text.hasSuffix("/") ? String(text.dropLast()) : text
        guard let origin = origin(text), origin == text, text.hasPrefix("https://") || isLoopback(origin: text) else {
            throw SettingError(.publicURL, refusing: text)
        }
        return text
    }

    /// Beyond loopback everything but TLS would show passwords to the network.
    private func checkAddress() throws(SettingError) {
        let isLocal = IPAddress.isLoopback(host) || publicURL.map { Self.isLoopback(origin: $0) } ?? false
        guard isLocal || certificateFile != nil || trustedProxy != nil else {
            throw SettingError(
                .webHost,
                "'\(host)' is reached from other machines, which requires TLS; set --tls-cert-file and --tls-key-file, or "
                    + "--trusted-proxy and --public-url")
        }
    }

    /// People's passwords go to the broker: over TLS, on this machine, or to a name without domain, as containers on a private
    /// network have.
    static func checkBroker(_ mqtt: MQTTConfiguration) throws(SettingError) {
        guard mqtt.tls == nil else { return }
        let names = mqtt.partitions.map(\.host).filter { !IPAddress.isLoopback($0) }
        if let host = names.first(where: { $0.contains { ".:".contains($0) } }) {
            throw SettingError(
                .mqttURL, "'\(host)' is another machine, and people's passwords go there; use mqtts://…")
        }
    }

    /// Scheme, host and port of a URL; `nil` if they contain anything that a header could misread.
    static func origin(_ url: String) -> String? {
        guard let scheme = ["https://", "http://"].first(where: url.hasPrefix) else { return nil }
        let host = url.dropFirst(scheme.count).prefix { $0 != "/" }
        let isPlain = host.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || ".-:[]".contains($0)) }
        return host.isEmpty || !isPlain ? nil : scheme + host
    }

    static func isLoopback(origin: String) -> Bool {
        let host = origin.drop { $0 != "/" }.dropFirst(2)
        return IPAddress.isLoopback(host.hasPrefix("[") ? String(host) : String(host.prefix { $0 != ":" }))
    }
}
