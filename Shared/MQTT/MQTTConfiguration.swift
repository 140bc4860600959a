/// Everything a client needs to know about its broker and about itself.
package struct MQTTConfiguration: Sendable {
    package enum Version: String, Sendable {
        case v311 = "3.1.1"
        case v5 = "5"
    }

    /// TLS 1.2 or later with a verified certificate and host name. Without `caFile` the system's authorities count;
    /// `certificateFile` and `keyFile` (PEM, key not encrypted) identify the client and come together.
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
    /// `nil` is an unencrypted connection.
    package var tls: TLS?
    package var version = Version.v5
    /// Unique for each process: two with the same id throw each other out forever.
    package var clientID: String
    package var username: String?
    package var password: Secret?
    /// Published by the broker when the connection ends without a DISCONNECT.
    package var will: MQTTMessage?
    /// 5 s to 65,535 s, whole seconds.
    package var keepAlive = Duration.seconds(30)
    /// For TCP, TLS, CONNACK and SUBACK together.
    package var connectTimeout = Duration.seconds(10)
    /// Published messages that may wait for their confirmation, 1…1,000. A lower Receive Maximum of the broker's counts.
    package var publishWindow = 1_000
    /// Messages in one received batch, 1…65,535, also the Receive Maximum announced with MQTT 5.
    package var batchLimit = 16_384
    /// Payload bytes in one received batch.
    package var batchByteLimit = 16 * 1_024 * 1_024
    /// The least time between the deliveries of two batches that are not full.
    package var batchInterval = Duration.milliseconds(25)
    /// Bytes. A larger payload is not published, and when received it is dropped and counted.
    package var payloadLimit = 256 * 1_024
    /// The first wait before connecting again; it doubles up to ``backoffMaximum``, less a random part.
    package var backoffMinimum = Duration.milliseconds(100)
    package var backoffMaximum = Duration.seconds(30)

    package init(clientID: String) {
        self.clientID = clientID
    }
}

/// A password. It prints as dots in descriptions, dumps and logs; only ``value`` tells it.
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
