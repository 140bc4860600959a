import ArgumentParser
import Foundation
import Hummingbird
import HummingbirdCore
import ServiceKit

/// What the settings below say.
struct DashboardConfiguration: Sendable {
    struct Tiles: Encodable {
        let url: String, attribution: String

        /// A known server by its name, or the template of addresses, a space, and the attribution.
        init(_ text: String) throws(SettingError) {
            let known = "https://tile.openstreetmap.org/{z}/{x}/{y}.png © OpenStreetMap contributors"
            let parts = (text == "openstreetmap" ? known : text).split(separator: " ", maxSplits: 1).map(String.init)
            guard parts.count == 2, let host = DashboardConfiguration.origin(parts[0]),
                ["/", "{z}", "{x}", "{y}"].allSatisfy({ parts[0].dropFirst(host.count).contains($0) })
            else { throw SettingError(.tiles, refusing: text) }
            (url, attribution) = (parts[0], parts[1])
        }
    }

    var host = "127.0.0.1"
    var port = 8080
    /// With one of loopback, as for a container whose port is published there, the web server listens anywhere without TLS, for
    /// loopback addresses alone.
    var publicURL: String?
    var certificateFile: String?
    var keyFile: String?
    var trustedProxy: String?
    var loginKeys = LoginKeys()
    var origins = Origins()
    var tiles: Tiles?
    var pairings: Pairings?
    var webFolder = Self.defaultWebFolder

    /// The folder `web` beside the executable, or beside the link that it was started by.
    private static var defaultWebFolder: String {
        let name = CommandLine.arguments[0]
        // A shell that finds it on the PATH passes its name alone.
        let executable = URL(filePath: name.contains("/") ? name : "/proc/self/exe")
        let file = name.contains("/") ? executable : executable.resolvingSymlinksInPath()
        return file.deletingLastPathComponent().appending(path: "web").path(percentEncoded: false)
    }
}

struct DashboardOptions: ParsableArguments {
    @Option(name: .customLong(Setting.webHost.flag), help: Setting.webHost.help)
    var host: String?

    @Option(name: .customLong(Setting.webPort.flag), help: Setting.webPort.help)
    var port: String?

    @Option(name: .customLong(Setting.publicURL.flag), help: Setting.publicURL.help)
    var publicURL: String?

    @Option(name: .customLong(Setting.tlsCertFile.flag), help: Setting.tlsCertFile.help)
    var certificateFile: String?

    @Option(name: .customLong(Setting.tlsKeyFile.flag), help: Setting.tlsKeyFile.help)
    var keyFile: String?

    @Option(name: .customLong(Setting.trustedProxy.flag), help: Setting.trustedProxy.help)
    var trustedProxy: String?

    @Option(name: .customLong(Setting.loginKeyFile.flag), help: Setting.loginKeyFile.help)
    var loginKeyFile: String?

    @Option(name: .customLong(Setting.webSocketOrigins.flag), help: Setting.webSocketOrigins.help)
    var origins: String?

    @Option(name: .customLong(Setting.tiles.flag), help: Setting.tiles.help)
    var tiles: String?

    @Option(name: .customLong(Setting.pairingsFolder.flag), help: Setting.pairingsFolder.help)
    var pairingsFolder: String?

    @Option(name: .customLong(Setting.webFolder.flag), help: Setting.webFolder.help)
    var webFolder: String?
}

extension Setting {
    static let webHost = Setting(
        flag: "web-host", explanation: "The address the web server listens on", accepted: "an address or a host name",
        standard: "127.0.0.1")
    static let webPort = Setting(
        flag: "web-port", explanation: "The port of the web server", accepted: "0 to 65535; 0 takes any",
        standard: "8080")
    static let publicURL = Setting(
        flag: "public-url", explanation: "The dashboard's address in browsers",
        accepted: "https://HOST[:PORT], or http:// for a loopback address; without a path",
        standard: "that of the web server")
    static let tlsCertFile = Setting(
        flag: "tls-cert-file", explanation: "The web server's certificate and its chain",
        accepted: "a PEM file, together with --tls-key-file")
    static let tlsKeyFile = Setting(
        flag: "tls-key-file", explanation: "The key of the web server's certificate",
        accepted: "a PEM file, together with --tls-cert-file")
    static let trustedProxy = Setting(
        flag: "trusted-proxy", explanation: "A proxy that terminates TLS and sets X-Forwarded-For",
        accepted: "its IP address, together with --public-url")
    static let loginKeyFile = Setting(
        flag: "login-key-file", explanation: "The keys of login cookies, the same for all replicas",
        accepted: "a file with 64 hex digits a line; the first line seals, all open",
        standard: "a key that ends with the process, and all logins with it")
    static let webSocketOrigins = Setting(
        flag: "websocket-origins", explanation: "The web pages that may connect to /mqtt, besides the dashboard's own",
        accepted: "origins such as https://app.example.org, separated by commas, or * for all", standard: "none")
    static let tiles = Setting(
        flag: "tiles", explanation: "The streets of maps; browsers ask this server for them",
        accepted: "openstreetmap, or https://HOST/{z}/{x}/{y}.png, a space, and the attribution", standard: "no streets"
    )
    static let pairingsFolder = Setting(
        flag: "pairings-folder", explanation: "The folder where compose/user pair leaves new devices",
        accepted: "a folder", standard: "no browser is paired")
    static let webFolder = Setting(
        flag: "web-folder", explanation: "The folder with pages and assets that compose/web.sh makes",
        accepted: "a folder", standard: "web beside the executable")
}
