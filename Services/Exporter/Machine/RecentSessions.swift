import Workouts

/// A bounded set of sessions: of too many the one that was put in first goes.
struct RecentSessions {
    private let limit: Int
    private var keys: Set<SessionKey> = []
    /// A ring, `next` being the place of the oldest once it is full.
    private var order: [SessionKey] = []
    private var next = 0

    init(limit: Int) {
        self.limit = limit
    }

    func contains(_ key: SessionKey) -> Bool { keys.contains(key) }

    mutating func insert(_ key: SessionKey) {
        guard keys.insert(key).inserted else { return }
        guard order.count == limit else { return order.append(key) }
        keys.remove(order[next])
        order[next] = key
        next = (next + 1) % limit
    }
}
