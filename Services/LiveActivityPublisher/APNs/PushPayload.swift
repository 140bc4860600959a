import Bus
import Workouts

/// The body of a push: what starts, updates or ends a Live Activity.
struct PushPayload: Equatable, Sendable {
    /// What a phone shows when an activity starts without the app.
    struct Alert: Equatable, Sendable {
        var title: String
        var body: String
    }

    enum Event: Equatable, Sendable {
        case start(ActivityAttributes, Alert)
        case update
        /// The activity leaves the lock screen at `dismissalDate`.
        case end(dismissalDate: Timestamp)
    }

    /// APNs' limit for a Live Activity payload, in bytes.
    static let sizeLimit = 4_096
    /// The name of the app's `ActivityAttributes` type.
    static let attributesType = "WorkoutWidgetAttributes"

    var event: Event
    /// The time of the state. A phone ignores an update older than the one it shows.
    var timestamp: Timestamp
    var state: ContentState
    /// When the phone marks the activity as stale; never if absent.
    var staleDate: Timestamp?
    var relevanceScore = 100.0

    /// JSON of at most `sizeLimit` bytes. Each text field is truncated to its own limit.
    var bytes: [UInt8] {
        var json = JSONWriter()
        json.object { $0.objectField("aps") { $0.fields(of: self) } }
        return json.bytes
    }
}

extension JSONWriter {
    /// The fields of `aps` in the order of their keys.
    fileprivate mutating func fields(of payload: PushPayload) {
        if case .start(let attributes, let alert) = payload.event {
            objectField("alert") { json in
                json.field("body", text: alert.body, limit: 512)
                json.field("title", text: alert.title, limit: 512)
            }
            objectField("attributes") { json in
                json.field("symbol", text: attributes.symbol, limit: 128)
                json.field("workoutActivityType", Int64(attributes.workoutActivityType))
                json.field("workoutName", text: attributes.workoutName, limit: 512)
            }
            field("attributes-type", plain: PushPayload.attributesType)
        }
        objectField("content-state") { $0.fields(of: payload.state) }
        if case .end(let dismissalDate) = payload.event { field("dismissal-date", whole: dismissalDate) }
        switch payload.event {
        case .start:
            field("event", plain: "start")
            // Asks the phone for the update token of the new activity.
            field("input-push-token", Int64(1))
        case .update: field("event", plain: "update")
        case .end: field("event", plain: "end")
        }
        field("relevance-score", finite: payload.relevanceScore)
        if let staleDate = payload.staleDate { field("stale-date", whole: staleDate) }
        field("timestamp", whole: payload.timestamp)
    }

    /// Whole Unix seconds.
    private mutating func field(_ key: StaticString, whole time: Timestamp) {
        field(key, Int64(time.seconds.rounded(.down)))
    }
}

extension ActivityRegistration.Environment {
    /// APNs' base URL for the environment.
    var url: String {
        switch self {
        case .production: "https://api.push.apple.com"
        case .sandbox: "https://api.sandbox.push.apple.com"
        }
    }
}
