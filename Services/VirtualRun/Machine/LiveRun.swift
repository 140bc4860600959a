import Bus
import ServiceKit
import Workouts

/// Everything between `metrics` and `partners` of one run.
///
/// A value without effects: ``update(_:now:)`` after each change of the run, ``receive(_:of:isRetained:now:)`` for each
/// snapshot, ``advance(isFed:now:)`` when ``due`` is reached and after each of the others.
struct LiveRun {
    /// The part that survives a restart.
    struct Stored: Codable, Equatable, Sendable {
        /// Later processes use higher revisions of `partners`.
        var ceiling: Int64 = 0
        var runners: [LiveRunner.Facts] = []
    }

    /// What a participant gets. `LiveRun` has one for each runner, at the same index.
    struct Reader {
        var sentAt: Moment?
        /// Whether `partners` go out, and seconds between two on average.
        var isActive = false
        var interval = runInterval(battery: nil)
        /// A change that arrives from then on goes out at once, and counts. On average one goes out in each interval; after a
        /// silence two may go out within one, and three in a run of two.
        var changesFrom: Moment?
        /// The number of the newest change of another runner that was sent.
        var seen = 0
        var seenPositions = 0
        var hadPositions = false
        /// A partner paused, resumed, finished, left or changed link.
        var isUrgent = false
        /// A kilometre or mile is complete.
        var awaitsSplit = false
    }

    let run: RunID
    let key: HidingKey
    var roster: RunRoster?
    var runners: [LiveRunner] = []
    var readers: [Reader] = []
    private var indices: [User: Int] = [:]
    var ghosts: [(number: Int, user: User?, curve: RunCurve, end: RunGap.End)] = []
    /// Those of runners that are not in the roster yet.
    private var loaded: [User: (LiveRunner.Facts?, RunCurve?)]
    var ceiling: Int64
    var revision: Int64
    /// Counts the changes of ``stored``: the machine saves it when the number differs from the saved one.
    var storedChanges = 0
    var pending: [LiveOutput] = []

    /// The clock of ages: microseconds in which snapshots could arrive, until a moment.
    private(set) var fed: Int64 = 0
    private var fedAt: Moment
    var isFed = false
    /// Before it, on the clock of ages, no prompt comes.
    var promptsFrom = LiveRun.grace
    /// When a link changes next, and a prompt comes next, on the clock of ages; 0 after a change on which they depend.
    var linksChangeAt: Int64 = 0
    var promptsChangeAt: Int64 = 0

    /// Whether each reader has one row.
    private(set) var isPair = false
    /// The newest change of any row, whose it was, and the newest of another runner: their numbers and times.
    private var changes: (count: Int, at: Moment, runner: Int, others: Int, othersAt: Moment)
    var positionChanges = 0

    /// Microseconds after a connect in which repeated data come first.
    static let grace: Int64 = 10_000_000

    /// - Parameters:
    ///   - stored: the stored part, or nothing.
    ///   - curves: what ``curves`` was when it was last stored.
    ///   - key: moves the circles that hide homes.
    init(_ run: RunID, stored: Stored = Stored(), curves: [User: RunCurve] = [:], key: HidingKey, now: Moment) {
        self.run = run
        self.key = key
        fedAt = now
        changes = (0, now, -1, 0, now)
        ceiling = stored.ceiling
        revision = stored.ceiling
        loaded = curves.mapValues { (nil, $0) }
        for facts in stored.runners { loaded[facts.user] = (facts, curves[facts.user]) }
    }

    var stored: Stored {
        let waiting = loaded.values.compactMap(\.0).sorted { $0.user < $1.user }
        return Stored(ceiling: ceiling, runners: runners.map(\.facts) + waiting)
    }

    /// The live curves, which the machine stores every 30 s; they are for gaps alone.
    var curves: [User: RunCurve] {
        let begun = runners.filter { $0.hasCurve && $0.participant.status != .left }
        return Dictionary(uniqueKeysWithValues: begun.map { ($0.participant.user, $0.curve) })
    }

    /// The links of those who run or finished, for metrics.
    var links: [RunLink] {
        runners.filter(\.participant.status.hasBegun).map { $0.isFinished ? .finished : $0.link }
    }

    /// Whether `partners` go out.
    var isLive: Bool { roster.map { $0.status == .starting || $0.status == .running } ?? false }

    mutating func factsChanged() { storedChanges += 1 }

    // MARK: - The run

    /// The run changed, or is loaded.
    mutating func update(_ new: RunRoster, now: Moment) {
        tick(now)
        let old = roster
        guard old != new else { return }
        roster = new
        let wasLive = old.map { $0.status == .starting || $0.status == .running } ?? false
        let before = Dictionary(uniqueKeysWithValues: zip(runners.map(\.participant.user), zip(runners, readers)))
        runners = []
        readers = []
        indices = [:]
        for participant in new.participants {
            indices[participant.user] = runners.count
            let known = before[participant.user]
            runners.append(runner(participant, known?.0, now))
            readers.append(known?.1 ?? Reader())
            readers[readers.count - 1].isActive = participant.status.receivesPartners
        }
        for (user, _) in before where indices[user] == nil {
            pending.append(.clear(user))
            factsChanged()
        }
        ghosts = new.ghosts.sorted { $0.key < $1.key }.map { number, ghost in
            let goalAt = new.settings.goal.flatMap { ghost.curve.seconds(to: $0) }
            return (number, ghost.user, ghost.curve, goalAt.map { .goal($0) } ?? .stopped(ghost.curve.duration))
        }
        if old == nil, new.status.isOver {
            // What ended before this process began is no news.
            for index in runners.indices {
                (runners[index].facts.toldFinish, runners[index].facts.toldLeft) = (true, true)
            }
        }
        for index in runners.indices {
            let previous = before[runners[index].participant.user]?.0.participant.status
            tellStatus(of: index, now)
            let isReader = new.status == .starting || new.status == .running
            if previous?.receivesPartners == true,
                !runners[index].participant.status.receivesPartners
                    || wasLive && !isReader
            {
                stop(index)
            }
        }
        if new.status.isOver {
            for index in runners.indices where runners[index].facts.start != nil {
                runners[index].facts.start = nil
                factsChanged()
            }
        }
        isPair = runners.count { $0.participant.status.receivesPartners } + ghosts.count == 2
        (linksChangeAt, promptsChangeAt) = (0, 0)
        positionChanges += 1
        changed(nil, now)
        alarm(but: nil)
    }

    private mutating func runner(_ participant: RunRoster.Participant, _ known: LiveRunner?, _ now: Moment)
        -> LiveRunner
    {
        var runner: LiveRunner
        if var known {
            if known.participant.status != .running, participant.status == .running { known.arrivedAt = fed }
            known.participant = participant
            if participant.status.hasBegun, known.facts.hasBegun != true {
                known.facts.hasBegun = true
                factsChanged()
            }
            runner = known
        } else {
            let (facts, curve) = loaded.removeValue(forKey: participant.user) ?? (nil, nil)
            // Without a loss on disk the age counts from now.
            let lost = facts?.lostAt.map {
                Self.disconnectedAge + max(0, now.wallClock.microseconds - $0.microseconds)
            }
            runner = LiveRunner(
                participant, facts: facts ?? .init(participant.user), curve: curve, arrivedAt: fed - (lost ?? 0))
            if lost != nil { runner.link = .disconnected }
        }
        if runner.facts.session != participant.session {
            var facts = runner.facts
            facts.reset(participant.session)
            runner = LiveRunner(participant, facts: facts, curve: nil, arrivedAt: fed)
            factsChanged()
        }
        runner.hide(key)
        return runner
    }

    /// Everything is published again. The retained `partners` of users who left and of a run that is over are cleared.
    mutating func connect(now: Moment) {
        tick(now)
        promptsFrom = fed + Self.grace
        promptsChangeAt = 0
        for index in readers.indices {
            readers[index].sentAt = nil
            readers[index].seenPositions = -1
            let status = runners[index].participant.status
            if status == .left || status.receivesPartners && roster?.status.isOver == true { stop(index) }
        }
    }

    /// Clears the user's retained message.
    private mutating func stop(_ index: Int) {
        pending.append(.clear(runners[index].participant.user))
        readers[index] = Reader(isActive: readers[index].isActive)
        if runners[index].facts.promptAt != nil { clearPrompt(index) }
    }

    // MARK: - Snapshots

    /// - Parameter isRetained: whether the message is a retained one, which is no sign of life.
    mutating func receive(_ metrics: RunnerMetrics, of sender: SessionKey, isRetained: Bool, now: Moment) {
        guard let roster, isLive, let index = indices[sender.user], runners[index].participant.status.hasBegun,
            runners[index].participant.session == sender.session, metrics.revision > runners[index].revision
        else { return }
        tick(now)
        let old = runners[index].metrics
        let wasFinished = runners[index].isFinished
        let oldPosition = runners[index].position
        let isArrival =
            !isRetained
            && (old == nil || old?.count != metrics.count || old?.newest != metrics.newest
                || old?.distance != metrics.distance)
        if runners[index].receive(metrics, goal: roster.settings.goal, clock: roster.settings.clock, key: key) {
            factsChanged()
        }
        if isArrival { runners[index].arrivedAt = fed }
        if isArrival || old?.isPaused != metrics.isPaused { refreshLink(index, now) }
        readers[index].interval = runInterval(battery: metrics.battery)
        if !wasFinished, runners[index].isFinished {
            promptsChangeAt = 0
            tellStatus(of: index, now)
            alarm(but: index)
        }
        if runners[index].position != oldPosition { positionChanges += 1 }
        let unit = runners[index].participant.units.splitLength
        let split = Int(((metrics.distance ?? 0) / unit).rounded(.down))
        if split > runners[index].facts.split ?? 0, runners[index].isAwaited { readers[index].awaitsSplit = true }
        changed(index, now)
    }

    // MARK: - Changes

    /// A row of the others changed: a runner's, or with `nil` any.
    private mutating func changed(_ index: Int?, _ now: Moment) {
        if let index, index != changes.runner {
            (changes.others, changes.othersAt) = (changes.count, changes.at)
        }
        changes.count += 1
        (changes.at, changes.runner) = (now, index ?? -1)
        if index == nil { (changes.others, changes.othersAt) = (changes.count, now) }
    }

    /// The number of the newest change that a runner sees, and when it arrived.
    func newest(for index: Int) -> (count: Int, at: Moment) {
        // The metres of ghosts are those at the reader's own time.
        index == changes.runner && ghosts.isEmpty
            ? (changes.others, changes.othersAt) : (changes.count, changes.at)
    }

    /// The rows of all readers but one go out at once.
    mutating func alarm(but index: Int?) {
        for reader in readers.indices where reader != index { readers[reader].isUrgent = true }
    }

    /// Advances the clock of ages.
    mutating func tick(_ now: Moment) {
        if isFed { fed += max(0, Int64((now.seconds(since: fedAt) * 1e6).rounded())) }
        fedAt = now
    }

    func moment(ofFed time: Int64) -> Moment { fedAt + Double(time - fed) / 1e6 }
}
