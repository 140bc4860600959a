import Bus
import Client
import MQTT
import ServiceKit
import Timing
import Workouts

/// The runs, the people and the replies of the shards that this process owns.
///
/// A value: it reads no clock and performs nothing. It settles what needs several runs or people: limits, contacts, ghosts,
/// replies, views. ``Run`` has the rules of one run, ``LiveRun`` the figures of its runners.
///
/// A run belongs to its own shard, and a user's contacts and blocks to the user's shard. About the shards of other
/// replicas, the machine knows only what the loop read from the store for the current requests, and what later messages
/// brought.
struct VirtualRunMachine {
    /// Seconds after a connect or a takeover in which no deadline of a run passes: repeated requests come first.
    static let grace = 10.0

    /// A reply to an accepted request.
    struct StoredReply: Equatable {
        let shard: Shard
        let reply: Reply
    }

    /// Moves the circles that hide homes.
    var hidingKey: HidingKey
    var entries: [RunID: LoadedRun] = [:]
    /// The runs in memory in which each user has a part.
    private(set) var runs: [User: Set<RunID>] = [:]
    /// The runs in memory in which a session of each user runs along.
    private(set) var haunted: [User: Set<RunID>] = [:]
    /// The participants of runs in memory that are not over, with these runs: their live metrics are subscribed to.
    private(set) var followed: [User: Set<RunID>] = [:]
    /// Whether ``followed`` has other users than when this was last cleared.
    var haveFollowedChanged = false
    /// The runs of sessions: those of participants, and those that ghosts repeat.
    private(set) var sessions: [SessionKey: Set<RunID>] = [:]
    /// The shards that other replicas may own.
    var foreign: Set<Shard> = []
    /// Those of owned shards, and copies of others whom a run here needs.
    var people: [User: PersonRecord] = [:]
    /// The contribution of other replicas' runs to users' limits, for the current requests.
    var elsewhere: [User: RunsElsewhere] = [:]
    /// Finished runs of other replicas with a session that a request wants as a ghost.
    var lent: [SessionKey: [Run]] = [:]
    /// The accounts that can take part in runs; empty until the broker's plugin has published them.
    private var accounts: Set<User> = []
    /// Invitations by sender and shard of the runs.
    var invitations: [User: [Shard: InvitationTally]] = [:]
    /// The `partners` that deletions cleared, and when; each connect clears them again for 48 h.
    var cleared: [RunID: [User: Moment]] = [:]
    /// What the service reads of users' profiles.
    var profiles: [User: RunnerProfile] = [:]
    /// The replies to each user, the oldest first.
    var replies: [User: [StoredReply]] = [:]
    var rates = Self.fullRates
    private static var fullRates: RateTable<User, Moment> {
        RateTable(burst: RunLimit.requestBurst, perSecond: RunLimit.requestRate)
    }
    /// Runs that wait for the curves of their ghosts.
    var creations: [RunID: RunCreation] = [:]
    var collector = ChunkCollector(timing: .virtualRun)
    private(set) var deadlines = Deadlines<RunID, Moment>()
    /// The summaries whose rows the collector wants.
    var collecting: [SessionKey: [String: Int64]] = [:]
    /// Runs with new snapshots.
    var touched: Set<RunID> = []
    /// Runs with pending views.
    var viewing: Set<RunID> = []
    /// Messages that depend on nothing in the store.
    private var outgoing: [(shard: Shard, message: MQTTMessage)] = []
    /// When messages about a shard began to arrive: absent without a connection, and until a takeover has its subscriptions.
    var announcedAt: [Shard: Moment] = [:]
    /// The metrics-aggregators that are online.
    private var aggregators = OnlineProcesses()
    var sweptAt: Moment?
    var counts = RunCounts()

    init(hidingKey: HidingKey) {
        self.hidingKey = hidingKey
    }

    /// Whether snapshots of a run's runners can arrive.
    func isFed(_ id: RunID) -> Bool { announcedAt[id.shard] != nil && !aggregators.isEmpty }

    // MARK: Runs

    /// Takes over a run from the store.
    mutating func load(
        _ record: RunRecord, live stored: LiveRun.Stored = LiveRun.Stored(), curves: [User: RunCurve] = [:],
        finals: [Runner: FinalRecord] = [:], now: Moment
    ) {
        var record = record
        record.limit(to: now)
        // A block does not wait for a run at rest.
        record.run.setBlocks(blocked)
        let id = record.run.id
        let live = LiveRun(id, stored: stored, curves: curves, key: hidingKey, now: now)
        var entry = LoadedRun(record: record, live: live, savedChanges: live.storedChanges, finals: finals)
        for participant in record.run.participants {
            if let listing = entry.listing(of: participant.user) { entry.listings[participant.user] = listing }
            entry.parts[participant.user] = record.run.part(of: participant.user)
        }
        entries[id] = entry
        index(id, before: nil)
        refresh(id, now)
        collect(id, now)
    }

    /// Applies a change to a run. A refusal changes nothing.
    ///
    /// - Parameter user: the user whose request it is; their view goes out at once.
    mutating func change(
        _ id: RunID, by user: User? = nil, _ now: Moment, _ body: (inout Run) throws(Refusal) -> Void
    ) throws(Refusal) -> [VirtualRunAction] {
        guard let before = entries[id]?.record.run else { return [] }
        var run = before
        try body(&run)
        guard run != before else { return [] }
        entries[id]?.record.run = run
        index(id, before: before)
        for participant in run.participants {
            let known = before.participant(participant.user)
            let isUrgent =
                participant.user == user || run.status != before.status || participant.status != known?.status
                // Blocking ends what is shared at once.
                || run.blocks != before.blocks
            look(id, participant.user, isUrgent: isUrgent)
        }
        refresh(id, now)
        collect(id, now)
        let gone = Set(before.ghosts.compactMap(\.key)).subtracting(run.ghosts.compactMap(\.key))
        return [.save(id)] + saveLive(id) + relist(id) + gone.sorted().map { .unlinkGhost($0, id) }
    }

    /// Follows a change of the run, of a profile, of a final curve, or of a ghost.
    mutating func refresh(_ id: RunID, _ now: Moment) {
        guard let (results, roster) = entries[id].map({ ($0.makeResults(), $0.roster(profiles)) }) else { return }
        entries[id]?.results = results
        entries[id]?.live.update(roster, now: now)
        schedule(id)
    }

    mutating func schedule(_ id: RunID) {
        with(id) { entry in entry.runDue = entry.run.due }
        scheduleLive(id)
    }

    /// Schedules a run that did not change.
    mutating func scheduleLive(_ id: RunID) {
        let due = with(id) { entry in
            entry.liveDue = entry.live.due
            return (live: entry.liveDue, run: entry.runDue)
        }
        if let due = due?.live { deadlines.schedule(id, at: due) }
        // Without a connection the next connect schedules it.
        if let due = due?.run, let passable = passable(id) { deadlines.schedule(id, at: max(due, passable)) }
    }

    /// Reads or changes an entry in its place. To read one through the dictionary copies it.
    @discardableResult
    mutating func with<Value>(_ id: RunID, _ body: (inout LoadedRun) -> Value) -> Value? {
        entries.index(forKey: id).map { body(&entries.values[$0]) }
    }

    /// Marks a view that may have changed.
    mutating func look(_ id: RunID, _ user: User, isUrgent: Bool = false) {
        guard let entry = entries[id], entry.run.shows(to: user) else { return }
        entries[id]?.pendingViews[user, default: false] = isUrgent || entry.pendingViews[user, default: false]
        viewing.insert(id)
    }

    mutating func look(_ id: RunID) {
        for participant in entries[id]?.run.participants ?? [] { look(id, participant.user) }
    }

    private mutating func index(_ id: RunID, before: Run?) {
        let run = entries[id]?.run
        func move(_ users: (Run) -> [User], in index: inout [User: Set<RunID>]) {
            let (old, new) = (Set(before.map(users) ?? []), Set(run.map(users) ?? []))
            for user in old.subtracting(new) {
                index[user]?.remove(id)
                if index[user]?.isEmpty ?? false { index[user] = nil }
            }
            for user in new { index[user, default: []].insert(id) }
        }
        move({ $0.participants.map(\.user) }, in: &runs)
        move({ $0.ghosts.compactMap(\.owner) }, in: &haunted)
        follow(id, before: before?.followed ?? [], now: run?.followed ?? [])
        let (old, new) = (before?.sessionKeys ?? [], run?.sessionKeys ?? [])
        for key in old.subtracting(new) {
            sessions[key]?.remove(id)
            if sessions[key]?.isEmpty ?? false { sessions[key] = nil }
        }
        for key in new.subtracting(old) { sessions[key, default: []].insert(id) }
    }

    private mutating func follow(_ id: RunID, before: Set<User>, now: Set<User>) {
        guard before != now else { return }
        for user in before.subtracting(now) {
            followed[user]?.remove(id)
            guard followed[user]?.isEmpty ?? false else { continue }
            followed[user] = nil
            haveFollowedChanged = true
        }
        for user in now {
            if followed[user] == nil { haveFollowedChanged = true }
            followed[user, default: []].insert(id)
        }
    }

    /// Removes a run from memory.
    mutating func evict(_ id: RunID) {
        guard let entry = entries.removeValue(forKey: id) else { return }
        index(id, before: entry.run)
        viewing.remove(id)
        deadlines.remove(id)
        for key in entry.run.sessionKeys where sessions[key] == nil { collector.remove(key) }
    }

    // MARK: Connection

    /// The first moment at which deadlines of a run pass; `nil` without a connection.
    func passable(_ id: RunID) -> Moment? { announcedAt[id.shard].map { $0 + Self.grace } }

    /// A new connection: every view goes out again, then the partners, live runs first.
    mutating func connected(now: Moment) -> [VirtualRunAction] {
        for id in entries.keys {
            for user in entries[id]?.record.views.keys ?? [:].keys {
                entries[id]?.record.views[user]?.topic.reconnected()
            }
        }
        for user in people.keys { people[user]?.topic.reconnected() }
        return announce(Set(Shard.all), now: now)
    }

    /// Removes what messages say that no longer arrive.
    mutating func standBy() {
        (announcedAt, aggregators, elsewhere, lent) = ([:], OnlineProcesses(), [:], [:])
        (profiles, rates, collecting, collector) = ([:], Self.fullRates, [:], ChunkCollector(timing: .virtualRun))
        (touched, viewing, accounts) = ([], [], [])
    }

    /// - Parameter rights: of an account; `nil` if it was removed. A viewer has no workouts, so it takes part in no run.
    mutating func receive(_ rights: AccountRights?, of user: User) {
        if rights?.viewer == false { accounts.insert(user) } else { accounts.remove(user) }
    }

    /// Why these users cannot be invited: one has no account that could accept.
    func refusal(ofInvitationsTo users: [User]) -> Refusal? {
        guard !accounts.isEmpty else { return nil }
        return users.first { !accounts.contains($0) }.map(Refusal.unknownAccount)
    }

    /// Ages stand until the next connection has a metrics-aggregator.
    mutating func disconnected(now: Moment) -> [VirtualRunAction] {
        (announcedAt, aggregators) = ([:], OnlineProcesses())
        return entries.keys.sorted().flatMap { advanceLive($0, now) }
    }

    /// Publishes the retained topics of some shards whose messages now arrive, live runs first.
    mutating func announce(_ shards: Set<Shard>, now: Moment) -> [VirtualRunAction] {
        for shard in shards { announcedAt[shard] = now }
        for id in entries.keys where shards.contains(id.shard) {
            entries[id]?.live.connect(now: now)
            schedule(id)
        }
        let ids = entries.filter { shards.contains($0.key.shard) }
            .sorted { ($0.value.run.status.isOver ? 1 : 0, $0.key) < ($1.value.run.status.isOver ? 1 : 0, $1.key) }
            .map(\.key)
        var actions: [VirtualRunAction] = []
        for id in ids {
            guard let entry = entries[id] else { continue }
            // A crash may have come between a change and its view.
            for participant in entry.run.participants { look(id, participant.user, isUrgent: true) }
            actions += revise(id, now)
            actions += entry.run.participants.map(\.user)
                .filter { entries[id]?.record.views[$0].map { !$0.isCleared } ?? false }
                .map { .publishView(id, $0) }
        }
        for id in cleared.keys.sorted() where shards.contains(id.shard) { actions += clearPartners(of: id, now) }
        let published = people.filter { shards.contains($0.key.shard) && $0.value.topic.revision > 0 }
        return actions.uniqued() + published.keys.sorted().map { .publishPeople($0) }
    }

    /// Takes the presence of a metrics-aggregator.
    mutating func receivePresence(
        _ message: MQTTMessage, of aggregator: ProcessName, now: Moment
    ) throws(PayloadError) -> [VirtualRunAction] {
        let wasFed = !aggregators.isEmpty
        try aggregators.receive(message, of: aggregator, now)
        return feedingMayHaveChanged(wasFed, now)
    }

    /// Stops the ages of all links when the last metrics-aggregator no longer renews its presence.
    mutating func expireAggregators(_ now: Moment) -> [VirtualRunAction] {
        let wasFed = !aggregators.isEmpty
        aggregators.expire(now)
        return feedingMayHaveChanged(wasFed, now)
    }

    private mutating func feedingMayHaveChanged(_ wasFed: Bool, _ now: Moment) -> [VirtualRunAction] {
        guard wasFed == aggregators.isEmpty else { return [] }
        return entries.keys.sorted().flatMap { advanceLive($0, now) }
    }

    // MARK: Messages

    mutating func send(_ message: MQTTMessage, of shard: Shard) { outgoing.append((shard, message)) }

    /// Removes and returns the messages that depend on nothing in the store.
    mutating func takeMessages() -> [(shard: Shard, message: MQTTMessage)] {
        defer { outgoing = [] }
        return outgoing
    }

    mutating func takeLags() -> [Double] {
        defer { counts.lags = [] }
        return counts.lags
    }

    mutating func takeDue(_ now: Moment) -> RunID? { deadlines.takeFirst(by: now) }
}

extension Run {
    /// The users whose live metrics matter to it.
    fileprivate var followed: Set<User> { status.isOver ? [] : Set(participants.map(\.user)) }
}
