package import Logging
package import MQTT
package import Workouts

/// An executable's resolved settings.
///
/// - `name`: the executable, `session-engine`; also its name on the bus and in the log.
/// - `instance`: the unique name of this process.
/// - `mqtt`: the broker connection (`MQTT_URL`, `MQTT_VERSION`, `MQTT_CA_FILE`, `MQTT_CERT_FILE`, `MQTT_KEY_FILE`,
///   `MQTT_PASSWORD_FILE`); by default `mqtt://127.0.0.1:1883` with MQTT 5. Its client id ends in the instance's 64
///   random bits.
/// - `client`: the topic level of replies to this process. Its random bits are not those of the MQTT client id: everyone who
///   reads the user's commands reads it, and could take the connection over.
/// - `store`: the store (`STORE_URL`, `STORE_CA_FILE`, `STORE_PASSWORD_FILE`); by default `sqlite:./data/<name>.sqlite`.
/// - `shards`: the shards this process owns (`SHARDS`); by default all.
/// - `httpHost`, `httpPort`: the health port (`HTTP_HOST`, `HTTP_PORT`); by default on loopback and, with 0, off.
/// - `logLevel`, `logFormat`: the log's level and format (`LOG_LEVEL`, `LOG_FORMAT`); by default `info` and `text`.
/// - `logName`: the name of this process in its log, such as `session-engine-2` (`LOG_NAME`); by default `name`.
///
/// An executable without ``StoreOptions`` ignores `store` and `shards`.
package struct ServiceConfiguration: Sendable {
    package let name: String
    package let instance: ProcessName
    package let client: Client
    package var mqtt: MQTTConfiguration
    package var store: StoreURL
    package var shards = ShardSelection.all
    package var httpHost = "127.0.0.1"
    package var httpPort = 0
    package var logLevel = Logger.Level.info
    package var logFormat = LogFormat.text
    package var logName: String

    package init(name: String, instance: ProcessName = .unique()) {
        self.name = name
        self.instance = instance
        logName = name
        mqtt = MQTTConfiguration(clientID: "\(name)-\(instance.randomBits)")
        guard let client = Client(ProcessName.unique(prefix: name).description) else {
            preconditionFailure("a process' name matches the pattern of a client's name")
        }
        self.client = client
        store = .sqlite(path: "./data/\(name).sqlite")
    }

    /// The broker's URL for logs: `mqtts://ann@example.org:8883`, without the password.
    package var broker: String {
        let user = mqtt.username.map { "\($0)@" } ?? ""
        let brokers = mqtt.partitions.map { "\($0.host.contains(":") ? "[\($0.host)]" : $0.host):\($0.port)" }
        return "\(mqtt.tls == nil ? "mqtt" : "mqtts")://\(user)\(brokers.joined(separator: ","))"
    }
}
