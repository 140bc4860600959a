import Bus
import Client
import MQTT
import ServiceKit
import Workouts

/// A virtual run with a line for each runner, in group order: on a terminal redrawn in place, otherwise printed on changes.
struct RunBoard {
    /// Seconds from the end of a run to results that may still change.
    private static let resultsTimeout = 30.0
    private static let (redrawInterval, printInterval) = (0.5, 5.0)
    private static let (unwrapped, wrapped) = ("\u{1B}[?7l", "\u{1B}[?7h")

    let isInteractive: Bool
    /// Rows of the terminal.
    private let height: Int
    private let user: User
    private var companion: RunCompanion
    /// The live metrics of the user's session.
    private var metrics: MetricsSnapshot?
    var isConnected = false
    /// The user's metres as they were shown last, and when the message with them arrived.
    private var display = RunnerDisplay()
    private var partnersAt: Moment?
    private var writtenAt: Moment?
    private var printed: String?
    /// Lines on the terminal that the next text replaces.
    private var openLines = 0
    private var overSince: Moment?
    private var hasPrompt = false

    init(user: User, run: RunID, isInteractive: Bool, height: Int?) {
        self.user = user
        self.isInteractive = isInteractive
        self.height = height ?? 24
        companion = RunCompanion(user: user, run: run)
    }

    var subscriptions: [MQTTSubscription] {
        RunCompanion.topics(user, companion.run).map(TopicFilter.topic) + [TopicFilter.metrics(of: user)]
    }

    /// Whether everything that is published about the run arrived.
    var isComplete: Bool {
        guard let view = companion.view else { return false }
        return view.status != .running || companion.partners != nil || view.own?.status != .running
    }

    /// Returns a line to print above the runners.
    mutating func receive(_ message: MQTTMessage, _ now: Moment) throws(PayloadError) -> String? {
        guard !message.payload.isEmpty else {
            companion.clear(message)
            return nil
        }
        if case .session(let key, .metrics) = Topic(message.topic) {
            if key.session == companion.view?.own?.session { metrics = try MetricsSnapshot(message.payload) }
            return nil
        }
        let revision = companion.partners?.revision
        if let text = try companion.receive(message) { return remark("> \(text)") }
        if companion.partners?.revision != revision { partnersAt = now }
        let hadPrompt = hasPrompt
        hasPrompt = companion.view?.prompt != nil
        if hasPrompt, !hadPrompt {
            return remark("no data from any partner; keep-waiting waits on, leave ends the run with them")
        }
        return nil
    }

    /// The run and its runners or results; `nil` before the view arrives.
    mutating func text(_ now: Moment) -> String? {
        guard let view = companion.view else { return nil }
        var partners = companion.partners
        // Between messages a terminal shows runners move. The messages arrive within a moment of their time.
        let passed = isInteractive ? partnersAt.map { now.seconds(since: $0) } ?? 0 : 0
        let isMoving = metrics?.isPaused == false && view.own?.status == .running
        let own = display.update(
            distance: partners?.distance, speed: metrics?.speed, age: 0, link: isMoving ? .connected : .paused,
            passed: passed)
        if partners?.distance != nil { partners?.distance = own }
        for index in partners?.rows.indices ?? 0..<0 {
            guard let row = partners?.rows[index] else { continue }
            let distance = partners?.metres(of: row, beside: partners?.distance)
            partners?.rows[index].distance = distance
        }
        return Text.run(view, partners, metrics)
    }

    /// The text to print now; `nil` if unchanged.
    mutating func take(_ now: Moment) -> String? {
        let interval = isInteractive ? Self.redrawInterval : Self.printInterval
        if let writtenAt, now.seconds(since: writtenAt) < interval { return nil }
        guard let text = text(now).map({ isConnected ? $0 : "no connection\n\($0)" }), text != printed else {
            return nil
        }
        (writtenAt, printed) = (now, text)
        guard isInteractive else { return text.escapingControlCharacters(except: "\n") }
        var lines = text.split(separator: "\n").map { String($0).escapingControlCharacters() }
        if lines.count > height - 1 { lines[(height - 2)...] = ["  … \(lines.count - height + 2) more"] }
        let cleared = clear()
        openLines = lines.count
        return cleared + Self.unwrapped + lines.joined(separator: "\n") + "\n" + Self.wrapped
    }

    /// The last text, once the run is over and its results are final or old enough.
    mutating func end(_ now: Moment) -> String? {
        guard let view = companion.view, view.status.isOver else { return nil }
        overSince = overSince ?? now
        let isFinal = view.status == .canceled || view.results.map { $0.provisional != true } ?? false
        guard isFinal || now.seconds(since: overSince ?? now) >= Self.resultsTimeout else { return nil }
        return text(now)
    }

    /// Removes the runners from the terminal.
    mutating func finish() -> String { clear() }

    private mutating func clear() -> String {
        defer { openLines = 0 }
        return openLines == 0 ? "" : "\u{1B}[\(openLines)A\r\u{1B}[J"
    }

    private mutating func remark(_ text: String) -> String {
        if isInteractive { (printed, writtenAt) = (nil, nil) }
        return clear() + text.escapingControlCharacters() + "\n"
    }
}
