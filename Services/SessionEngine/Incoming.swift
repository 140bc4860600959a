import Bus
import MQTT

/// A received message, decoded as far as necessary to load the records that its batch needs.
struct Incoming {
    let message: MQTTMessage
    /// `nil` if it is not a topic of the bus.
    let topic: Topic?
    /// The user's request; `nil` on other topics.
    let request: Result<UserRequest, PayloadError>?

    init(_ message: MQTTMessage) {
        self.message = message
        topic = Topic(message.topic)
        guard case .user(_, .request) = topic else {
            request = nil
            return
        }
        request = Result { () throws(PayloadError) in try JSONCoding.decode(UserRequest.self, from: message.payload) }
    }

    var payload: ArraySlice<UInt8> { message.payload }
}

/// The part of a service's presence that the engine reads.
struct SeenPresence: Decodable {
    enum Status: String, Decodable {
        case online, offline
    }

    let status: Status
}
