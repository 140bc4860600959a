import Bus
import MQTT
import ServiceKit
import Workouts

/// Everyone's presses: stored before they are sent, repeated every 5 s until the reply, in the order of each lane.
///
/// The first POST of an id fixes the time of the press. A repeated POST, a restart of this process, of the broker or of a
/// service changes neither that time nor the press's number of effects: services apply an id once.
struct PendingCommands {
    /// Seconds between repetitions.
    static let interval = 5.0
    /// The longest age of a press, and how long this process repeats it: sessions are gone by then.
    static let lifetime = 172_800.0
    /// Seconds for which an answered press stays after that, for repeated POSTs.
    static let memory = 86_400.0
    /// Presses of a user without a reply.
    static let unfinishedLimit = 50
    /// All presses of a user; beyond, the oldest answered one goes.
    static let limit = 200
    /// The longest wait that a refusal can ask for, in seconds.
    static let longestWait = 86_400.0

    enum Posted: Equatable {
        /// The press is new: commit these, then call ``stored(_:of:)``.
        case new([RecordChange])
        case pending
        case answered(Reply)
        /// The id belongs to another press.
        case conflict
        /// Too many presses have no reply.
        case full
    }

    struct Outcome: Equatable {
        let user: User
        let reply: Reply
    }

    /// Each user's presses in their order.
    private var presses: [User: [PendingCommand]] = [:]

    /// Takes a stored press. If the wall clock stepped backwards since, it counts as posted now.
    mutating func load(_ stored: PendingCommand, _ now: Moment) {
        var press = stored
        press.posted = press.posted.atMost(now)
        presses[press.user, default: []].append(press)
        presses[press.user]?.sort { $0.number < $1.number }
    }

    var users: Set<User> { Set(presses.keys) }

    func hasUnfinished(_ user: User) -> Bool { presses[user]?.contains { $0.reply == nil } ?? false }

    func unfinished(of user: User) -> [PendingCommand] { presses[user]?.filter { $0.reply == nil } ?? [] }

    /// Removes the presses without a reply. Those already sent may still take effect.
    mutating func discard(_ user: User) -> [RecordChange] {
        let discarded = unfinished(of: user)
        presses[user]?.removeAll { $0.reply == nil }
        if presses[user]?.isEmpty == true { presses[user] = nil }
        return discarded.map { .delete(.presses, $0.recordKey) }
    }

    var unfinishedCount: Int { presses.values.reduce(0) { $0 + $1.count { $0.reply == nil } } }

    // MARK: Posting

    /// - Parameter age: seconds since the press; negative counts as 0.
    mutating func post(_ press: Press, id: CommandID, age: Double, by user: User, _ now: Moment) -> Posted {
        var own = presses[user] ?? []
        if let known = own.first(where: { $0.id == id }) {
            guard known.press == press else { return .conflict }
            return known.reply.map { .answered($0) } ?? .pending
        }
        guard own.count(where: { $0.reply == nil }) < Self.unfinishedLimit else { return .full }
        var changes: [RecordChange] = []
        if own.count >= Self.limit, let oldest = own.firstIndex(where: { $0.reply != nil }) {
            changes.append(.delete(.presses, own.remove(at: oldest).recordKey))
        }
        let added = PendingCommand(
            id: id, user: user, press: press, at: now.wallClock - min(max(age, 0), Self.lifetime), posted: now,
            number: (own.last?.number ?? 0) + 1)
        own.append(added)
        presses[user] = own
        return .new(changes + [.put(.presses, added.recordKey, added)])
    }

    /// The press is on disk and may be sent.
    mutating func stored(_ id: CommandID, of user: User) {
        guard let index = presses[user]?.firstIndex(where: { $0.id == id }) else { return }
        presses[user]?[index].isStored = true
    }

    /// The press cannot be stored: it never happened.
    mutating func abandon(_ id: CommandID, of user: User) -> [RecordChange] {
        guard let index = presses[user]?.firstIndex(where: { $0.id == id && !$0.isStored }) else { return [] }
        return [.delete(.presses, remove(at: index, of: user).recordKey)]
    }

    // MARK: Sending

    /// The user's connection is new: everything without a reply is sent again.
    mutating func connected(_ user: User) {
        for index in presses[user]?.indices ?? 0..<0 { presses[user]?[index].sent = nil }
    }

    /// The messages to send now: of each lane the first press without a reply.
    mutating func take(_ user: User, client: Client, _ now: Moment) -> [MQTTMessage] {
        guard var own = presses[user] else { return [] }
        var lanes: Set<Press.Lane> = []
        var messages: [MQTTMessage] = []
        for index in own.indices where own[index].reply == nil {
            guard lanes.insert(own[index].press.lane).inserted, own[index].isDue(now) else { continue }
            own[index].sent = now
            messages.append(own[index].message(client: client))
        }
        presses[user] = own
        return messages
    }

    /// A reply to the user. A second reply to a repeated press is ignored.
    mutating func received(_ reply: Reply, for user: User, _ now: Moment) -> (
        outcome: Outcome?, changes: [RecordChange]
    ) {
        guard let index = presses[user]?.firstIndex(where: { $0.id == reply.id && $0.reply == nil }) else {
            return (nil, [])
        }
        if let wait = reply.error?.retryAfter {
            presses[user]?[index].pausedUntil = now + min(max(wait, Self.interval), Self.longestWait)
            return (nil, [])
        }
        return finish(index, of: user, reply)
    }

    /// Gives up presses that had no reply for two days, and removes answered ones a day later.
    mutating func expire(_ now: Moment) -> (outcomes: [Outcome], changes: [RecordChange]) {
        var outcomes: [Outcome] = []
        var changes: [RecordChange] = []
        for (user, own) in presses {
            for index in own.indices.reversed() {
                let age = now.seconds(since: own[index].posted)
                if own[index].reply == nil, age >= Self.lifetime {
                    let refusal = Refusal(
                        code: "expired", message: "no service replied within two days; press again if it still applies")
                    let reply = Reply(id: own[index].id, revision: nil, now: now.wallClock, error: refusal)
                    let (outcome, writes) = finish(index, of: user, reply)
                    if let outcome { outcomes.append(outcome) }
                    changes += writes
                } else if own[index].reply != nil, age >= Self.lifetime + Self.memory {
                    changes.append(.delete(.presses, remove(at: index, of: user).recordKey))
                }
            }
        }
        return (outcomes, changes)
    }

    private mutating func finish(
        _ index: Int, of user: User, _ reply: Reply
    ) -> (outcome: Outcome?, changes: [RecordChange]) {
        presses[user]?[index].reply = reply
        guard let press = presses[user]?[index] else { return (nil, []) }
        return (Outcome(user: user, reply: reply), [.put(.presses, press.recordKey, press)])
    }

    private mutating func remove(at index: Int, of user: User) -> PendingCommand {
        var own = presses[user] ?? []
        defer { presses[user] = own.isEmpty ? nil : own }
        return own.remove(at: index)
    }

}
