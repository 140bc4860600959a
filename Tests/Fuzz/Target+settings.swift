import Bus
import HTTPTypes
import MQTT
import NIOCore
import Workouts

@testable import Dashboard
@testable import Formats
@testable import ServiceKit

/// Settings, headers and what clients of the dashboard send.
extension Target {
    static func readSettings(_ text: String) {
        if let url = try? StoreURL(setting: text, caFile: "ca.crt") { _ = "\(url)" }
        if let canonical = IPAddress.canonical(text) { check(IPAddress.canonical(canonical), canonical) }
        _ = IPAddress.isLoopback(text)
        _ = ClientNetwork(text)
        if let shards = ShardSelection(text) {
            check(ShardSelection(shards.description)?.shards, shards.shards)
            check(ShardSelection(shards.description)?.description, shards.description)
        }
        _ = Origins(text)?.allows("https://app.example.org")
        _ = try? DashboardConfiguration.Tiles(text)
        if let retry = RetryAfter(text) { check(retry.seconds(from: now) >= 0, true) }
        if let time = Timestamp(iso8601: text) {
            // A leap second and a fraction that rounds up are written as the next second.
            var written: [UInt8] = []
            written.append(time, decimals: 6)
            let again = Timestamp(iso8601: String(decoding: written, as: UTF8.self))
            if time.ticks(of: 1) == time.microseconds { check(again, time) }
        }
        _ = ExportFile(text)
        _ = ProcessName.unique(prefix: text, bits: 1)
        if let keys = LoginKeys(text), let user = User("demo") {
            let login = Login(user, Secret("a"), at: now)
            check(keys.open(Login.self, keys.seal(login, for: "pacebus"), for: "pacebus"), login)
        }
    }

    /// The first packet of an MQTT connection, and the cookies of a request.
    static func readConnect(_ bytes: [UInt8]) {
        guard let user = User("demo") else { return }
        let login = Login(user, Secret("secret"), at: now)
        if case .complete(let packet, let length) = ConnectPacket.read(ByteBuffer(bytes: bytes)) {
            check(length <= bytes.count, true)
            // Nothing but the whole packet is complete.
            check(ConnectPacket.read(ByteBuffer(bytes: bytes.prefix(length - 1))), .incomplete)
            let written = packet.written(for: login, client: "page-1")
            guard case .complete(let again, _) = ConnectPacket.read(written) else {
                return check(nil, written)
            }
            check(again.userName, "demo")
        }
        let cookies = LoginCookies(keys: LoginKeys(), isSecure: false)
        var headers = HTTPFields()
        for line in bytes.split(separator: UInt8(ascii: "\n"), maxSplits: 4) {
            headers.append(HTTPField(name: .cookie, value: String(decoding: line, as: UTF8.self)))
        }
        check(cookies.login(headers, now) == nil, true)
        check(cookies.isKnown(headers, to: user), false)
        roundTrip(Login.self, bytes)
    }
}
