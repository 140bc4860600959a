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
    /// All presses of a user, and their bytes; beyond, the oldest answered one goes, a discarded one last: services do not
    /// know its id.
    static let limit = 200
    static let byteLimit = 1_024 * 1_024
    /// The longest wait that a refusal can ask for, in seconds.
    static let longestWait = 86_400.0

    static let discarded = Refusal(code: "discarded", message: "discarded at logout")
    static let withdrawn = Refusal(
        code: "withdrawn", message: "the workout was discarded before it began; press again if it still applies")
    static let erased = Refusal(
        code: "erased", message: "pressed before the deletion of all data; press again if it still applies")

    enum Posted: Equatable {
        /// The press is new: commit these, then call ``stored(_:of:)``.
        case new([RecordChange])
        case pending
        case answered(Reply)
        /// The press is based on another plan than the saved one, void, or a start that a discard withdrew.
        case refused(Refusal)
        /// The id belongs to another press.
        case conflict
        /// Too many presses have no reply, or too large ones.
        case full(Refusal)
    }

    struct Outcome: Equatable {
        let user: User
        let reply: Reply
    }

    /// Each user's presses in their order.
    private var presses: [User: [PendingCommand]] = [:]
    /// When users deleted everything. Presses from before are void.
    private var erasedAt: [User: Timestamp] = [:]

    /// Takes a stored press. If the wall clock stepped backwards since, it counts as posted now.
    mutating func load(_ stored: PendingCommand, _ now: Moment) {
        var press = stored
        press.posted = press.posted.atMost(now)
        press.bytes = RecordChange.put(.presses, press.recordKey, press).bytes
        presses[press.user, default: []].append(press)
        presses[press.user]?.sort { $0.number < $1.number }
    }

    var users: Set<User> { Set(presses.keys) }

    func hasUnfinished(_ user: User) -> Bool { presses[user]?.contains { $0.reply == nil } ?? false }

    func unfinished(of user: User) -> [PendingCommand] { presses[user]?.filter { $0.reply == nil } ?? [] }

    /// Refuses the presses without a reply. They are kept like answered ones: a page that did not receive the refusal posts
    /// them again at the next login. Those already sent may still take effect. A press that another browser has not posted
    /// yet is not named at the logout; it arrives as a press of that browser, at its own time.
    mutating func discard(_ user: User, _ now: Moment) -> (outcomes: [Outcome], changes: [RecordChange]) {
        var outcomes: [Outcome] = []
        var changes: [RecordChange] = []
        for (index, press) in (presses[user] ?? []).enumerated() where press.reply == nil {
            let reply = Reply(id: press.id, revision: nil, now: now.wallClock, error: Self.discarded)
            let (outcome, writes) = finish(index, of: user, reply)
            if let outcome { outcomes.append(outcome) }
            changes += writes
        }
        return (outcomes, changes)
    }

    /// The user deleted everything then. Void presses leave the store; those without a reply are refused, as are repeated
    /// POSTs.
    mutating func erase(_ user: User, at time: Timestamp, _ now: Moment) -> (
        outcomes: [Outcome], changes: [RecordChange]
    ) {
        // A clock that was ahead refuses no later press.
        let time = min(time, now.wallClock)
        erasedAt[user] = max(erasedAt[user] ?? time, time)
        return removeVoid(of: user, now)
    }

    private mutating func removeVoid(
        of user: User, _ now: Moment
    ) -> (outcomes: [Outcome], changes: [RecordChange]) {
        let own = presses[user] ?? []
        let void = own.filter { isVoid($0.at, of: user) }
        guard !void.isEmpty else { return ([], []) }
        presses[user] = void.count == own.count ? nil : own.filter { !isVoid($0.at, of: user) }
        let outcomes = void.filter { $0.reply == nil }.map {
            Outcome(
                user: user, reply: Reply(id: $0.id, revision: nil, now: now.wallClock, error: Self.erased))
        }
        return (outcomes, void.map { .delete(.presses, $0.recordKey) })
    }

    private func isVoid(_ at: Timestamp, of user: User) -> Bool { erasedAt[user].map { at <= $0 } ?? false }

    var unfinishedCount: Int { presses.values.reduce(0) { $0 + $1.count { $0.reply == nil } } }

    // MARK: Posting

    /// A discard withdraws the start of its session if that has no reply: it is sent no more, also if its POST comes later.
    /// The service may have the start already, so the discard is sent nevertheless.
    ///
    /// - Parameters:
    ///   - age: seconds from the press to the start of its POST; negative counts as 0.
    ///   - at: the time of the press by this process's clock, if the page knows it. It counts before `age`, which lacks the time
    ///     that the POST was on its way.
    ///   - base: the saved plan that the press changes.
    ///   - plans: the saved plans by now.
    mutating func post(
        _ press: Press, id: CommandID, age: Double, at: Timestamp? = nil, by user: User, onto base: PlanBase? = nil,
        plans: [SavedPlans.Plan] = [], _ now: Moment
    ) -> Posted {
        var own = presses[user] ?? []
        if let known = own.first(where: { $0.id == id }) {
            // A repetition may have read a newer version of the plan.
            guard known.press.based(on: nil) == press.based(on: nil) else { return .conflict }
            return known.reply.map { .answered($0) } ?? .pending
        }
        let at = Self.time(age, at, now.wallClock)
        guard !isVoid(at, of: user) else { return .refused(Self.erased) }
        if let refusal = base?.refusal(plans, waiting: own.filter { $0.reply == nil }) { return .refused(refusal) }
        var changes: [RecordChange] = []
        switch press {
        case .command(let session, .start) where own.contains { $0.press == .command(session, .discard) }:
            return .refused(Self.withdrawn)
        case .command(let session, .discard):
            for index in own.indices where own[index].isPendingStart(of: session) {
                own[index].reply = Reply(id: own[index].id, revision: nil, now: now.wallClock, error: Self.withdrawn)
                changes.append(.put(.presses, own[index].recordKey, own[index]))
            }
        default: break
        }
        var added = PendingCommand(
            id: id, user: user, press: base.map { press.based(on: $0.version(in: plans)) } ?? press,
            at: at, posted: now, number: (own.last?.number ?? 0) + 1)
        let write = RecordChange.put(.presses, added.recordKey, added)
        added.bytes = write.bytes
        let unfinished = own.filter { $0.reply == nil }
        guard unfinished.count < Self.unfinishedLimit, unfinished.bytes + added.bytes <= Self.byteLimit else {
            return .full(Self.full(unfinished))
        }
        while own.count >= Self.limit || own.bytes + added.bytes > Self.byteLimit,
            let oldest = own.firstIndex(where: { $0.reply != nil && $0.reply?.error != Self.discarded })
                ?? own.firstIndex(where: { $0.reply != nil })
        {
            changes.append(.delete(.presses, own.remove(at: oldest).recordKey))
        }
        own.append(added)
        presses[user] = own
        return .new(changes + [write])
    }

    private static func full(_ unfinished: [PendingCommand]) -> Refusal {
        Refusal(
            code: "too_many_presses",
            message: "\(unfinished.count) presses of \(unfinished.bytes / 1_024) KiB wait for a reply; at most "
                + "\(unfinishedLimit) of \(byteLimit / 1_024) KiB together. This one is accepted after their replies")
    }

    private static func time(_ age: Double, _ at: Timestamp?, _ now: Timestamp) -> Timestamp {
        min(max(at ?? now - max(age, 0), now - lifetime), now)
    }

    /// The press is on disk and may be sent.
    mutating func stored(_ id: CommandID, of user: User) {
        guard let index = presses[user]?.firstIndex(where: { $0.id == id }) else { return }
        presses[user]?[index].isStored = true
    }

    /// The press cannot be stored: it never happened.
    mutating func abandon(_ id: CommandID, of user: User) -> [RecordChange] {
        guard let index = presses[user]?.firstIndex(where: { $0.id == id && !$0.isStored && $0.reply == nil }) else {
            return []
        }
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

    /// Gives up presses that had no reply for two days, and removes answered ones a day later, and void ones that were loaded
    /// after the deletion.
    mutating func expire(_ now: Moment) -> (outcomes: [Outcome], changes: [RecordChange]) {
        var outcomes: [Outcome] = []
        var changes: [RecordChange] = []
        for user in presses.keys {
            let (refused, deletions) = removeVoid(of: user, now)
            outcomes += refused
            changes += deletions
            let own = presses[user] ?? []
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

extension [PendingCommand] {
    fileprivate var bytes: Int { reduce(0) { $0 + $1.bytes } }
}
