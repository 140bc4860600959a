import Bus
import Client
import MQTT
import ServiceKit
import Workouts

/// A live session: on a terminal one line that is updated, otherwise a line for each change.
struct LiveView {
    /// Seconds to wait for the workout of a completed session.
    private static let workoutTimeout = 5.0

    let isInteractive: Bool
    /// Seconds that the engine's clock is ahead of this machine's.
    var clockOffset = 0.0
    private var line: ProgressLine
    private var state: SessionState?
    private var plan: PlanState?
    private var metrics: MetricsSnapshot?
    private var workout: WorkoutRecord?
    private var isConnected = false
    private var isEngineSilent = false
    private var completedAt: Moment?
    /// The last line, with and without its running clocks.
    private var printed: (text: String, change: String)?

    init(isInteractive: Bool) {
        self.isInteractive = isInteractive
        line = ProgressLine(isInteractive: isInteractive)
    }

    /// The words of an announcement of a newer service.
    private struct NewAnnouncement: Decodable {
        let text: String
    }

    static func topics(_ key: SessionKey) -> [Topic] {
        [.session(key, .state), .session(key, .metrics), .session(key, .workout), .session(key, .announcements)]
    }

    var hasSession: Bool { state != nil }

    mutating func connected() {
        isConnected = true
    }

    mutating func disconnected() {
        isConnected = false
    }

    /// Returns an announcement, to print above the line.
    mutating func receive(_ message: MQTTMessage) throws(PayloadError) -> String? {
        guard case .session(_, let topic) = Topic(message.topic) else { return nil }
        switch topic {
        case .state:
            let next = try SessionState(message.payload)
            // After a crash the broker may retain an old state.
            if let state, next.revision < state.revision { return nil }
            plan = try PlanState(message.payload)
            state = next
        case .metrics: metrics = try MetricsSnapshot(message.payload)
        case .workout: workout = try JSONCoding.decode(WorkoutRecord.self, from: message.payload)
        case .announcements:
            guard let text = text(message) else { return nil }
            // Print the line again below it.
            if isInteractive { printed = nil }
            return line.remark("> \(text)")
        default: break
        }
        return nil
    }

    /// The text of an announcement; `nil` if only a newer version knows its format.
    private func text(_ message: MQTTMessage) -> String? {
        if let known = try? JSONCoding.decode(Announcement.self, from: message.payload) {
            return Text.announcement(known, state?.activity)
        }
        return (try? JSONCoding.decode(NewAnnouncement.self, from: message.payload))?.text
    }

    /// A remark when the engine becomes silent or replies again; `nil` if unchanged.
    mutating func engine(isSilent: Bool) -> String? {
        guard hasSession, isSilent != isEngineSilent else { return nil }
        isEngineSilent = isSilent
        // Print the line again below it.
        if isInteractive { printed = nil }
        return line.remark(
            isSilent ? "\(EngineLink.silence); the session may have changed" : "session-engine replies again")
    }

    /// The line to print now; `nil` if unchanged.
    mutating func take(_ now: Moment) -> String? {
        guard let text = text(now.wallClock), let change = self.text(nil) else { return nil }
        guard isInteractive else {
            guard change != printed?.change else { return nil }
            printed = (text, change)
            return text.escapingControlCharacters() + "\n"
        }
        guard text != printed?.text, let update = line.update(text, now, isCut: true) else { return nil }
        printed = (text, change)
        return update
    }

    /// The outcome of a session that has ended.
    mutating func takeEnd(_ now: Moment) -> String? {
        guard let state else { return nil }
        switch state.status {
        case .preparing, .active, .paused, .suspended, .saving: return nil
        case .completed:
            if completedAt == nil { completedAt = now }
            if let workout { return Text.summary(workout) }
            guard let completedAt, now.seconds(since: completedAt) >= Self.workoutTimeout else { return nil }
        case .canceled, .deleted: break
        }
        let reason = state.status == .canceled ? state.endReason.map { " (\($0))" } : nil
        return "\(state.name) is \(state.status.rawValue)\(reason ?? "")"
    }

    /// Ends the line.
    mutating func finish() -> String { line.finish() }

    /// - Parameter moment: the time of running clocks; `nil` leaves them out.
    private func text(_ moment: Timestamp?) -> String? {
        guard let state else { return nil }
        let text = Text.live(
            state, plan, metrics,
            at: moment.map { Text.moment(of: state, plan, metrics, now: $0 + clockOffset) })
        // First, because the terminal may truncate the line.
        return isConnected ? text : "no connection · \(text)"
    }
}
