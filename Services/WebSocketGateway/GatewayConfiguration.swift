import ArgumentParser
import ServiceKit

/// - `host`, `port` (`WEBSOCKET_HOST`, `WEBSOCKET_PORT`): the WebSocket listener; by default 127.0.0.1 and 8083.
/// - `origins` (`WEBSOCKET_ORIGINS`): the web pages that may connect besides this machine's.
struct GatewayConfiguration: Sendable {
    var host = "127.0.0.1"
    var port = 8083
    var origins = Origins()
}

/// Which web pages may connect. A browser sends the page's origin and lets no page change it; other clients send none.
struct Origins: Sendable {
    var allowsAll = false
    /// `https://app.example.org`.
    var allowed: Set<String> = []

    /// Returns `nil` if an origin has a path or no scheme.
    init?(_ text: String) {
        for part in text.split(separator: ",") {
            let origin = part.trimmingPrefix { $0 == " " }
            let host = origin.split(separator: "://", maxSplits: 1, omittingEmptySubsequences: false).last
            guard origin == "*" || (origin.contains("://") && host?.isEmpty == false && host?.contains("/") == false)
            else { return nil }
            if origin == "*" { allowsAll = true } else { allowed.insert(origin.lowercased()) }
        }
    }

    init() {}

    /// Pages that this machine serves are allowed: another site cannot claim their origin.
    func allows(_ origin: String?) -> Bool {
        guard let origin = origin?.lowercased() else { return true }
        if allowsAll || allowed.contains(origin) { return true }
        guard let host = origin.split(separator: "://", maxSplits: 1).last, host.count < origin.count else {
            return false
        }
        return ["localhost", "127.0.0.1", "[::1]"].contains { host == $0 || host.hasPrefix($0 + ":") }
    }
}

struct GatewayOptions: ParsableArguments {
    @Option(name: .customLong(Setting.webSocketHost.flag), help: Setting.webSocketHost.help)
    var host: String?

    @Option(name: .customLong(Setting.webSocketPort.flag), help: Setting.webSocketPort.help)
    var port: String?

    @Option(name: .customLong(Setting.webSocketOrigins.flag), help: Setting.webSocketOrigins.help)
    var origins: String?
}

extension Setting {
    static let webSocketHost = Setting(
        flag: "websocket-host", explanation: "The address the WebSocket listener listens on",
        accepted: "an address or a host name", standard: "127.0.0.1")
    static let webSocketPort = Setting(
        flag: "websocket-port", explanation: "The port of the WebSocket listener", accepted: "0 to 65535; 0 takes any",
        standard: "8083")
    static let webSocketOrigins = Setting(
        flag: "websocket-origins", explanation: "The web pages that may connect, besides those of this machine",
        accepted: "origins such as https://app.example.org, separated by commas, or * for all", standard: "none")
}

extension GatewayConfiguration {
    /// - Throws: `SettingError` for the first invalid setting.
    static func resolve(
        _ options: GatewayOptions, environment: [String: String]
    ) throws(SettingError) -> GatewayConfiguration {
        let values = SettingValues(environment: environment)
        var configuration = GatewayConfiguration()
        configuration.host = values.text(.webSocketHost, options.host) ?? configuration.host
        if let text = values.text(.webSocketPort, options.port) {
            guard let port = UInt16(text) else { throw SettingError(.webSocketPort, refusing: text) }
            configuration.port = Int(port)
        }
        if let text = values.text(.webSocketOrigins, options.origins) {
            guard let origins = Origins(text) else { throw SettingError(.webSocketOrigins, refusing: text) }
            configuration.origins = origins
        }
        return configuration
    }
}
