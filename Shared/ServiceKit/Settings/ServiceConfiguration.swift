package import Logging
package import MQTT
package import Workouts

/// What an executable was told to do, checked and complete.
///
/// - `name`: the executable, `session-engine`; also its name on the bus and in the log.
/// - `instance`: this process, unlike any other.
/// - `mqtt`: the broker (`MQTT_URL`, `MQTT_VERSION`, `MQTT_CA_FILE`, `MQTT_CERT_FILE`, `MQTT_KEY_FILE`,
///   `MQTT_PASSWORD_FILE`); by default `mqtt://127.0.0.1:1883` with MQTT 5. Its client id ends in the instance's 64
///   random bits.
/// - `store`: where data is kept (`STORE_URL`); by default `sqlite:./data/<name>.sqlite`.
/// - `shards`: the part of all sessions to work for (`SHARDS`); by default all.
/// - `httpHost`, `httpPort`: the health port (`HTTP_HOST`, `HTTP_PORT`); by default on loopback and, with 0, off.
/// - `logLevel`, `logFormat`: the log (`LOG_LEVEL`, `LOG_FORMAT`); by default `info` and `text`.
///
/// An executable without ``StoreOptions`` has the defaults of `store` and `shards` and uses neither.
package struct ServiceConfiguration: Sendable {
    package let name: String
    package let instance: ProcessName
    package var mqtt: MQTTConfiguration
    package var store: StoreURL
    package var shards = ShardSelection.all
    package var httpHost = "127.0.0.1"
    package var httpPort = 0
    package var logLevel = Logger.Level.info
    package var logFormat = LogFormat.text

    package init(name: String, instance: ProcessName = .unique()) {
        self.name = name
        self.instance = instance
        mqtt = MQTTConfiguration(clientID: "\(name)-\(instance.randomBits)")
        store = .sqlite(path: "./data/\(name).sqlite")
    }

    /// The broker as a person may see it: `mqtts://ann@example.org:8883`, never with a password.
    package var broker: String {
        let user = mqtt.username.map { "\($0)@" } ?? ""
        let host = mqtt.host.contains(":") ? "[\(mqtt.host)]" : mqtt.host
        return "\(mqtt.tls == nil ? "mqtt" : "mqtts")://\(user)\(host):\(mqtt.port)"
    }
}

/// The version of Pacebus, shown by `--version`, in the start-up line and in each service's presence.
package let pacebusVersion = "0.1.0"
