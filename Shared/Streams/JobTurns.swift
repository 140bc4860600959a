import OrderedCollections
import Workouts

/// Which jobs may run: a few at one time, one of a user, users in turn. Together they have no more items than one session
/// may have, which bounds their memory.
struct JobTurns {
    let itemLimit: Int
    /// The users and items of the running jobs, by number.
    private var running: [Int: (user: User, items: Int)] = [:]
    private var latest = 0
    /// The users with due jobs, the next one first.
    private var waiting: OrderedSet<User> = []

    init(itemLimit: Int) {
        self.itemLimit = itemLimit
    }

    var isEmpty: Bool { running.isEmpty }
    var hasRoom: Bool { running.count < StreamTimes.jobs }

    func hasJob(_ user: User) -> Bool { running.values.contains { $0.user == user } }

    /// The users with due jobs in the order of their turns. Those who were not among them come last.
    mutating func queue(_ users: Set<User>) -> [User] {
        waiting.append(contentsOf: users.sorted())
        waiting.removeAll { !users.contains($0) }
        return Array(waiting)
    }

    /// Begins a user's job and returns its number; `nil` while it has no room.
    mutating func begin(_ user: User, items: Int) -> Int? {
        let total = running.values.reduce(items) { $0 + $1.items }
        guard hasRoom, isEmpty || total <= itemLimit else { return nil }
        waiting.remove(user)
        latest += 1
        running[latest] = (user, items)
        return latest
    }

    mutating func end(_ number: Int) { running[number] = nil }
}
