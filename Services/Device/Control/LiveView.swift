import Bus
import MQTT
import ServiceKit
import Workouts

/// A session as it goes, for a terminal: one line written anew, elsewhere a line at each change.
struct LiveView {
    /// Seconds in which the finished workout follows a session that is completed.
    private static let workoutPatience = 5.0
    /// A line that is longer than the terminal is wide is cut off, for only one row can be written anew.
    private static let (unwrapped, wrapped) = ("\u{1B}[?7l", "\u{1B}[?7h")

    let isInteractive: Bool
    /// Seconds that the engine's clock, by which sessions go, is ahead of this machine's.
    var clockOffset = 0.0
    private var line: ProgressLine
    private var state: SessionState?
    private var plan: PlanState?
    private var metrics: MetricsSnapshot?
    private var workout: WorkoutRecord?
    private var isConnected = false
    private var isEngineSilent = false
    private var completedAt: Timestamp?
    /// What was last written, and what of it does not tick.
    private var written: (text: String, change: String)?

    init(isInteractive: Bool) {
        self.isInteractive = isInteractive
        line = ProgressLine(isInteractive: isInteractive)
    }

    /// What an announcement of any kind has.
    private struct Said: Decodable {
        let type: String
        let text: String
    }

    static func topics(_ key: SessionKey) -> [Topic] {
        [.session(key, .state), .session(key, .metrics), .session(key, .workout), .session(key, .announcements)]
    }

    var knowsSession: Bool { state != nil }

    mutating func connected() {
        isConnected = true
    }

    mutating func disconnected() {
        isConnected = false
    }

    /// Takes a message in and returns what is to be written at once: an announcement, above the line.
    mutating func receive(_ message: MQTTMessage) throws(PayloadError) -> String? {
        guard case .session(_, let topic) = Topic(message.topic) else { return nil }
        switch topic {
        case .state:
            let next = try SessionState(message.payload)
            // After a crash the broker may retain what is over.
            if let state, next.revision < state.revision { return nil }
            plan = try PlanState(message.payload)
            state = next
        case .metrics: metrics = try MetricsSnapshot(message.payload)
        case .workout: workout = try JSONCoding.decode(WorkoutRecord.self, from: message.payload)
        case .announcements:
            // What a newer service announces in other words is not worth an end.
            guard let said = try? JSONCoding.decode(Said.self, from: message.payload) else { return nil }
            // The line comes again below it.
            if isInteractive { written = nil }
            let isWarning = said.type == Announcement.Kind.warning.rawValue
            return line.remark("> \(isWarning ? "warning: " : "")\(said.text)")
        default: break
        }
        return nil
    }

    /// Tells that the engine of a session that is shown does not answer, and that it does again; `nil` when that is known.
    mutating func engine(isSilent: Bool) -> String? {
        guard knowsSession, isSilent != isEngineSilent else { return nil }
        isEngineSilent = isSilent
        // The line comes again below it.
        if isInteractive { written = nil }
        return line.remark(
            isSilent ? "\(EngineLink.silence); what is shown may be old" : "session-engine answers again")
    }

    /// What is to be written now; `nil` when nothing has changed.
    mutating func take(_ now: Timestamp) -> String? {
        guard let text = text(now), let change = self.text(nil) else { return nil }
        guard isInteractive else {
            guard change != written?.change else { return nil }
            written = (text, change)
            return text + "\n"
        }
        guard text != written?.text, let update = line.update(Self.unwrapped + text + Self.wrapped, now) else {
            return nil
        }
        written = (text, change)
        return update
    }

    /// How it ended, once it is over.
    mutating func takeEnd(_ now: Timestamp) -> String? {
        guard let state else { return nil }
        switch state.status {
        case .preparing, .active, .paused, .suspended, .saving: return nil
        case .completed:
            if completedAt == nil { completedAt = now }
            if let workout { return Written.summary(workout) }
            guard let completedAt, now.seconds(since: completedAt) >= Self.workoutPatience else { return nil }
        case .canceled, .deleted: break
        }
        let reason = state.status == .canceled ? state.endReason.map { " (\($0))" } : nil
        return "\(state.name) is \(state.status.rawValue)\(reason ?? "")"
    }

    /// Leaves the line.
    mutating func finish() -> String { line.finish() }

    /// - Parameter moment: what it ticks on to; `nil` leaves out all that ticks.
    private func text(_ moment: Timestamp?) -> String? {
        guard let state else { return nil }
        let text = Written.live(
            state, plan, metrics,
            at: moment.map { Written.moment(of: state, plan, metrics, now: $0 + clockOffset) })
        // First, for the end of a line may be cut off.
        return isConnected ? text : "no connection · \(text)"
    }
}
