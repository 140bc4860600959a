extension APNsServer {
    /// The payload of an alert, as the app reads it.
    package struct Notification: Decodable, Equatable, Sendable {
        package let aps: APS
        package let run: String
        package let kind: String

        package struct APS: Decodable, Equatable, Sendable {
            package let alert: Payload.Alert
            package let interruptionLevel: String
            package let sound: String

            private enum CodingKeys: String, CodingKey {
                case alert, sound
                case interruptionLevel = "interruption-level"
            }
        }
    }

    /// The payload of a push, as ActivityKit decodes it.
    package struct Payload: Decodable, Sendable {
        package let aps: APS

        package struct APS: Decodable, Sendable {
            package let event: String
            package let timestamp: Int
            package let contentState: ContentState
            package let staleDate: Int?
            package let dismissalDate: Int?
            package let relevanceScore: Double
            package let attributesType: String?
            package let attributes: Attributes?
            package let alert: Alert?

            private enum CodingKeys: String, CodingKey {
                case event, timestamp, attributes, alert
                case contentState = "content-state"
                case staleDate = "stale-date"
                case dismissalDate = "dismissal-date"
                case relevanceScore = "relevance-score"
                case attributesType = "attributes-type"
            }
        }

        package struct ContentState: Decodable, Equatable, Sendable {
            package let elapsedTime: Double
            package let asOf: Double
            package let isPaused: Bool
            package let isFinished: Bool
            package let distance: Double?
            package let activeEnergy: Double?
            package let heartRate: Double?
            package let pace: Double?
            package let speed: Double?
            package let banner: String?
            package let partner: String?
            package let exercise: String?
            package let phase: String?
            package let phaseEndsAt: Double?
            package let round: Int?
        }

        package struct Attributes: Decodable, Equatable, Sendable {
            package let symbol: String
            package let workoutActivityType: Int
            package let workoutName: String
        }

        package struct Alert: Decodable, Equatable, Sendable {
            package let title: String
            package let body: String
        }
    }
}
