/// The settings of a client: its broker, its identity and its limits.
package struct MQTTConfiguration: Sendable {
    package enum Version: String, Sendable {
        case v311 = "3.1.1"
        case v5 = "5"
    }

    /// TLS 1.2 or later with a verified certificate and host name. Without `caFile` the system's authorities are
    /// trusted. `certificateFile` and `keyFile` (PEM, key not encrypted) identify the client and must be set together.
    package struct TLS: Sendable, Hashable {
        package var caFile: String?
        package var certificateFile: String?
        package var keyFile: String?

        package init(caFile: String? = nil, certificateFile: String? = nil, keyFile: String? = nil) {
            self.caFile = caFile
            self.certificateFile = certificateFile
            self.keyFile = keyFile
        }
    }

    package var host = "127.0.0.1"
    package var port: UInt16 = 1883
    /// The other brokers, if several share the accounts; see ``PartitionedBus``.
    package var otherPartitions: [MQTTURL.Broker] = []
    /// `nil` for an unencrypted connection.
    package var tls: TLS?
    package var version = Version.v5
    /// Unique per process. Two clients with the same id disconnect each other forever.
    package var clientID: String
    package var username: String?
    package var password: Secret?
    /// Reads the password for each connection, because its file may change; `nil` means ``password``.
    package var currentPassword: @Sendable () -> Secret? = { nil }
    /// The broker publishes it if the connection ends without a DISCONNECT.
    package var will: MQTTMessage?
    /// Whole seconds from 5 to 65,535.
    package var keepAlive = Duration.seconds(30)
    /// Whether ``MQTTClient/run()`` throws when the first connection fails for a reason that a retry does not mend: a refused login
    /// or an untrusted certificate. The subscriber's events then do not end.
    package var endsWhenRefused = false
    /// The timeout for TCP, TLS, CONNACK and SUBACK together.
    package var connectTimeout = Duration.seconds(10)
    /// The maximum number of unconfirmed messages, 1…1,000. The broker's Receive Maximum may lower it.
    package var publishWindow = 1_000
    /// The maximum number of messages in a received batch, 1…65,535; with MQTT 5 also the Receive Maximum of this
    /// client. While as many messages of services wait, the client does not read.
    package var batchLimit = 16_384
    /// While messages of services with as many bytes wait, the client does not read.
    package var batchByteLimit = 16 * 1_024 * 1_024
    /// Whose messages a topic carries. By default all are a service's: one queue, and none is dropped.
    package var queueRule: @Sendable (_ topic: String) -> QueueRule = { _ in QueueRule(owner: "", kind: .service) }
    package var queueLimits = QueueLimits()
    /// Receives the number of messages that a limit dropped, on the client's thread.
    package var onExcess: @Sendable (QueueExcess, _ count: Int) -> Void = { _, _ in }
    /// The minimum time between two deliveries of batches that are not full.
    package var batchInterval = Duration.milliseconds(25)
    /// The minimum time between two reads while no batch is due. Each wake-up costs as much as reading several messages.
    package var readInterval = Duration.zero
    /// The maximum payload in bytes. Larger payloads are not published; received ones are dropped and counted.
    package var payloadLimit = 256 * 1_024
    /// The first delay before reconnecting. It doubles up to ``backoffMaximum``, less a random part.
    package var backoffMinimum = Duration.milliseconds(100)
    package var backoffMaximum = Duration.seconds(30)

    package init(clientID: String) {
        self.clientID = clientID
    }

    /// The configuration of each broker's client, in the order of the partitions.
    package var partitions: [MQTTConfiguration] {
        var first = self
        first.otherPartitions = []
        return [first]
            + otherPartitions.enumerated().map { index, broker in
                var other = first
                (other.host, other.port) = (broker.host, broker.port)
                // Two names for one broker: with one client id, each connection would end the other.
                other.clientID += "-\(index + 2)"
                return other
            }
    }
}

/// A password. Descriptions, dumps and logs show dots; only ``value`` contains the text.
package struct Secret: Sendable, Hashable {
    package let value: String

    package init(_ value: String) {
        self.value = value
    }
}

extension Secret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package var description: String { "•••" }
    package var debugDescription: String { "•••" }
    package var customMirror: Mirror { Mirror(self, children: []) }
}
