import Bus
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
    /// Moves the circles that hide homes.
    var hidingKey: HidingKey
    var entries: [RunID: LoadedRun] = [:]
    var index = RunIndex()
    private(set) var deadlines = Deadlines<RunID, Moment>()
    /// Runs with new snapshots.
    var touched: Set<RunID> = []
    /// Runs with pending views.
    var viewing: Set<RunID> = []
    var feed = RunFeed()
    var others = OtherReplicas()
    /// Those of owned shards, and copies of others whom a run here needs.
    var people: [User: PersonRecord] = [:]
    /// The accounts that can take part in runs; empty until the broker's plugin has published them.
    private var accounts: Set<User> = []
    /// What the service reads of users' profiles.
    var profiles: [User: RunnerProfile] = [:]
    var replies = RunReplies()
    var invitations = SentInvitations()
    var cleared = ClearedPartners()
    /// Runs that wait for the curves of their ghosts.
    var creations: [RunID: RunCreation] = [:]
    var rows = RunRows()
    /// Messages that depend on nothing in the store.
    private var outgoing: [(shard: Shard, message: MQTTMessage)] = []
    var sweptAt: Moment?
    var counts = RunCounts()

    init(hidingKey: HidingKey) {
        self.hidingKey = hidingKey
    }

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
        index.update(id, before: nil, now: record.run)
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
        index.update(id, before: before, now: run)
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
        if let due = due?.run, let passable = feed.passable(id) { deadlines.schedule(id, at: max(due, passable)) }
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

    /// Removes a run from memory.
    mutating func evict(_ id: RunID) {
        guard let entry = entries.removeValue(forKey: id) else { return }
        index.update(id, before: entry.run, now: nil)
        viewing.remove(id)
        deadlines.remove(id)
        for key in entry.run.sessionKeys where !index.knows(key) { rows.remove(key) }
    }

    // MARK: Connection

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
        (feed, profiles, rows) = (RunFeed(), [:], RunRows())
        others.forgetRequests()
        replies.forgetRates()
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
        feed = RunFeed()
        return advanceAllLive(now)
    }

    /// Publishes the retained topics of some shards whose messages now arrive, live runs first.
    mutating func announce(_ shards: Set<Shard>, now: Moment) -> [VirtualRunAction] {
        feed.announce(shards, now: now)
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
        for id in cleared.runs(in: shards) { actions += clearPartners(of: id, now) }
        let published = people.filter { shards.contains($0.key.shard) && $0.value.topic.revision > 0 }
        return actions.uniqued() + published.keys.sorted().map { .publishPeople($0) }
    }

    /// Takes the presence of a metrics-aggregator.
    mutating func receivePresence(
        _ message: MQTTMessage, of aggregator: ProcessName, now: Moment
    ) throws(PayloadError) -> [VirtualRunAction] {
        try feed.receive(message, of: aggregator, now: now) ? advanceAllLive(now) : []
    }

    /// Stops the ages of all links when the last metrics-aggregator no longer renews its presence.
    mutating func expireAggregators(_ now: Moment) -> [VirtualRunAction] {
        feed.expire(now) ? advanceAllLive(now) : []
    }

    private mutating func advanceAllLive(_ now: Moment) -> [VirtualRunAction] {
        entries.keys.sorted().flatMap { advanceLive($0, now) }
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
