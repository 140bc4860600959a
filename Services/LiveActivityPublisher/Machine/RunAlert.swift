import Bus
import Foundation
import Workouts

/// The alert that a user's view of a virtual run asks for now.
struct RunAlert: Equatable, Sendable {
    enum Kind: String, Codable, CaseIterable, Sendable {
        /// The user has not answered an invitation.
        case invitation
        /// The run is about to start, and the user has still to confirm.
        case confirm
    }

    let run: RunID
    let kind: Kind
    /// When the user was invited, or accepted: at another time it is another alert.
    let at: Timestamp
    /// The end of the invitation, or the time until which to confirm.
    let expiresAt: Timestamp
    let title: String
    private let host: User
    private let goal: RunGoal?
    /// The others who accepted, in group order.
    private let others: [User]

    /// `nil` if the view asks for no alert.
    init?(_ view: VirtualRunView) {
        guard let own = view.own else { return nil }
        switch (own.status, view.status) {
        case (.invited, let status) where !status.isOver:
            guard let end = view.expiresAt else { return nil }
            (kind, expiresAt) = (.invitation, end)
        case (.accepted, .confirming):
            guard let end = view.confirmBy else { return nil }
            (kind, expiresAt) = (.confirm, end)
        default: return nil
        }
        run = view.run
        at = own.at
        title = view.settings.name ?? "Virtual run"
        host = view.host
        goal = view.settings.goal
        others = view.participants.filter { $0.user != view.user && [.accepted, .confirmed].contains($0.status) }
            .map(\.user)
    }

    /// - Parameter units: those of the reader.
    func body(_ units: Units, now: Timestamp) -> String {
        switch kind {
        case .invitation: return "\(host.asName) invites you to run" + (goal.map { " \($0.text(units))" } ?? "")
        case .confirm:
            let run = others.isEmpty ? "Your run" : "Run with \(Self.list(others.map(\.asName)))"
            let left = max(1, Int(expiresAt.seconds(since: now)))
            // A push takes some seconds of the minute.
            let time = left < 55 ? Self.count(left, "second") : Self.count((left + 5) / 60, "minute")
            return "\(run) starts: confirm within \(time)"
        }
    }

    /// At most three names.
    private static func list(_ names: [String]) -> String {
        switch names.count {
        case ...1: names.joined()
        case 2...3: "\(names.dropLast().joined(separator: ", ")) and \(names[names.count - 1])"
        default: "\(names.prefix(2).joined(separator: ", ")) and \(names.count - 2) others"
        }
    }

    fileprivate static func count(_ number: Int, _ unit: String) -> String {
        "\(number) \(unit)\(number == 1 ? "" : "s")"
    }
}

extension RunGoal {
    fileprivate func text(_ units: Units) -> String {
        switch (self, units) {
        case (.distance(let meters), .metric):
            return meters < 1_000 ? "\(Self.decimal(meters, 0)) m" : "\(Self.decimal(meters / 1_000, 3)) km"
        case (.distance(let meters), .imperial):
            let miles = Self.decimal(meters / units.splitLength, 2)
            return "\(miles) \(miles == "1" ? "mile" : "miles")"
        case (.duration(let seconds), _):
            let whole = Int(seconds.rounded())
            if whole.isMultiple(of: 3_600) { return "for \(RunAlert.count(whole / 3_600, "hour"))" }
            if whole.isMultiple(of: 60) { return "for \(RunAlert.count(whole / 60, "minute"))" }
            return "for \(RunAlert.count(whole, "second"))"
        }
    }

    /// Rounded, without zeros at the end.
    private static func decimal(_ value: Double, _ digits: Int) -> String {
        guard digits > 0 else { return "\(Int(value.rounded()))" }
        var text = Substring(String(format: "%.\(digits)f", value))
        while text.last == "0" { text.removeLast() }
        return "\(text.last == "." ? text.dropLast() : text)"
    }
}

extension User {
    /// The name with a capital first letter.
    fileprivate var asName: String { "\(description.prefix(1).uppercased())\(description.dropFirst())" }
}
