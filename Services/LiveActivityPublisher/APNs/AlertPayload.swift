import Bus
import Workouts

/// The body of a push that shows an alert about a virtual run.
struct AlertPayload: Equatable, Sendable {
    var title: String
    var body: String
    /// The app opens this run.
    var run: RunID
    var kind: RunAlert.Kind

    /// JSON of less than 2 KiB: each text is truncated.
    var bytes: [UInt8] {
        var json = JSONWriter()
        json.object { json in
            json.objectField("aps") { aps in
                aps.objectField("alert") { alert in
                    alert.field("body", text: body, limit: 512)
                    alert.field("title", text: title, limit: 512)
                }
                aps.field("interruption-level", plain: "time-sensitive")
                aps.field("sound", plain: "default")
            }
            json.field("kind", plain: kind.rawValue)
            json.field("run", plain: "\(run)")
        }
        return json.bytes
    }
}
