import Bus
import MQTT

/// A received message, decoded as far as necessary to load the records that its batch needs.
struct EngineMessage {
    let message: MQTTMessage
    /// `nil` if it is not a topic of the bus.
    let topic: Topic?
    /// The user's request; `nil` on other topics.
    let request: Result<UserRequest, PayloadError>?
    /// A viewer's request; `nil` on other topics.
    let viewerRequest: Result<ViewerRequest, PayloadError>?

    init(_ message: MQTTMessage) {
        self.message = message
        topic = Topic(message.topic)
        switch topic {
        case .user(_, .request): (request, viewerRequest) = (Self.decode(message), nil)
        case .user(_, .viewerRequest): (request, viewerRequest) = (nil, Self.decode(message))
        default: (request, viewerRequest) = (nil, nil)
        }
    }

    private static func decode<Request: Decodable>(_ message: MQTTMessage) -> Result<Request, PayloadError> {
        Result { () throws(PayloadError) in try JSONCoding.decode(Request.self, from: message.payload) }
    }

    var payload: ArraySlice<UInt8> { message.payload }
}
