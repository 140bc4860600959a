import Bus
import MQTT

/// A message with what has to be known of it before the batch it came in is handled.
struct Incoming {
    let message: MQTTMessage
    /// `nil` when it is none of ours.
    let topic: Topic?
    /// What a user asks for; `nil` on any other topic.
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

/// What the engine reads of a service's presence.
struct SeenPresence: Decodable {
    enum Status: String, Decodable {
        case online, offline
    }

    let status: Status
}
