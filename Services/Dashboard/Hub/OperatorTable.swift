import Bus
import Workouts

/// What an operator looks for among all sessions.
struct OperatorView: Hashable, Sendable {
    /// Raw values are those of the page's address.
    enum Filter: String, CaseIterable, Sendable {
        case unfinished = ""
        case silent, preparing, active, paused, suspended, saving, completed, canceled
    }

    /// A part of the user's name.
    let name: String
    let filter: Filter
    let units: Units

    init(name: String = "", filter: Filter = .unfinished, units: Units = .metric) {
        self.name = String(name.trimmingPrefix(while: \.isWhitespace).prefix(64)).lowercased()
        self.filter = filter
        self.units = units
    }
}

/// The sessions of a view that an operator looks at first, and the counts of all.
///
/// Stuck sessions come first, then live ones, those at rest, and those that are over; within each, the one that is silent for the
/// longest time, and of those that are over the latest.
struct OperatorTable: Sendable {
    struct Row: Equatable, Sendable {
        let key: SessionKey
        let status: SessionStatus?
        /// Since when the session is silent: its newest items, or without any its last change.
        let since: Timestamp
        let hasItems: Bool
        /// An active session without items, or one that is being saved, for over a minute.
        let isStuck: Bool
    }

    static let limit = 100
    /// Seconds without items after which an active session counts as silent.
    static let silence = 60.0

    private(set) var counts: [SessionStatus: Int] = [:]
    private(set) var silent = 0
    /// Sessions that are being saved for over a minute.
    private(set) var stuckSaving = 0
    /// The sessions of the view, of which ``rows`` has at most ``limit``.
    private(set) var matches = 0
    private(set) var rows: [Row] = []

    init(_ sessions: [User: [SessionID: Hub.Facts]], _ view: OperatorView, _ now: Timestamp) {
        for (user, facts) in sessions {
            let hasName = view.name.isEmpty || user.description.contains(view.name)
            for (session, facts) in facts {
                let row = Row(SessionKey(user, session), facts, now)
                if let status = row.status { counts[status, default: 0] += 1 }
                if row.isStuck {
                    if row.status == .saving { stuckSaving += 1 } else { silent += 1 }
                }
                guard hasName, row.matches(view.filter) else { continue }
                matches += 1
                rows.append(row)
                // Sorting now and then keeps the list short.
                if rows.count >= 20 * Self.limit { keepFirst() }
            }
        }
        keepFirst()
    }

    private mutating func keepFirst() {
        rows.sort()
        rows.removeLast(max(0, rows.count - Self.limit))
    }
}

extension OperatorTable.Row: Comparable {
    fileprivate init(_ key: SessionKey, _ facts: Hub.Facts, _ now: Timestamp) {
        let changed = Timestamp(microseconds: facts.revision * 1_000)
        self.key = key
        status = facts.status
        since = facts.status == .saving ? changed : facts.heardAt ?? changed
        hasItems = facts.heardAt != nil
        isStuck =
            (facts.status == .active || facts.status == .saving) && now.seconds(since: since) > OperatorTable.silence
    }

    fileprivate func matches(_ filter: OperatorView.Filter) -> Bool {
        switch filter {
        case .unfinished: rank < 3
        case .silent: isStuck && status == .active
        default: status?.rawValue == filter.rawValue
        }
    }

    private var rank: Int {
        switch status {
        case .active, .preparing, .saving: isStuck ? 0 : 1
        case .paused, .suspended, nil: 2
        case .completed, .canceled, .deleted: 3
        }
    }

    static func < (left: Self, right: Self) -> Bool {
        let (rank, other) = (left.rank, right.rank)
        if rank != other { return rank < other }
        if left.since != right.since { return (left.since < right.since) == (rank < 3) }
        return left.key < right.key
    }
}
