import Bus
import TestSupport
import Workouts

/// Payloads of virtual runs.
extension SeededRandom {
    mutating func sharing() -> Sharing {
        Sharing(
            position: .random(using: &self), heartRate: .random(using: &self), route: .random(using: &self),
            ghost: .random(using: &self), hideNear: .random(in: Sharing.hideNearRange, using: &self))
    }

    mutating func runSettings() -> RunSettings {
        var settings = RunSettings()
        settings.name = maybe("Sunday")
        settings.goal = [.distance(5_000), .duration(1_800), nil].randomElement(using: &self)!
        settings.clock = Bool.random(using: &self) ? .gun : .active
        settings.countdown = .random(in: RunSettings.countdowns, using: &self)
        settings.lateJoin = .random(using: &self)
        if Bool.random(using: &self) {
            settings.start = .rolling
            settings.endsAt = maybe(time())
        } else {
            settings.scheduledAt = maybe(time())
        }
        return settings
    }

    mutating func runRequests() -> [VirtualRunRequest] {
        var change = Sharing.Change()
        change.position = maybe(false)
        change.hideNear = maybe(400)
        let ghosts: [GhostSource] = [
            .pace(300), .session(nil, identifier()), .session(User("ben")!, identifier()),
        ]
        let onRun: [VirtualRunRequest.Action] = [
            .create(RunProposal(runSettings(), invite: [User("ben")!], ghosts: ghosts, sharing: change)),
            .invite([User("cleo")!]), .remove(User("ben")!), .begin, .cancel, .accept(change), .decline, .confirm,
            .leave,
            .share(change), .keepWaiting, .show, .routes,
        ]
        let others: [VirtualRunRequest.Action] = [
            .runs(RunsQuery(before: maybe(time()), limit: 5)), .addContact(User("ben")!), .removeContact(User("ben")!),
            .block(User("ben")!), .unblock(User("ben")!), .setInvites(.contacts),
        ]
        return onRun.map { VirtualRunRequest(id: identifier(), client: name(), run: identifier(), action: $0) }
            + others.map { VirtualRunRequest(id: identifier(), client: name(), action: $0) }
    }

    mutating func runView() -> VirtualRunView {
        var own = VirtualRunView.Participant(user: User("anna")!, status: .finished, at: time(), sharing: sharing())
        own.reason = maybe("unconfirmed")
        own.startsAt = maybe(time())
        own.environment = maybe(.outdoor)
        own.maximumHeartRate = maybe(190)
        own.session = maybe(identifier())
        own.startId = maybe(identifier())
        own.finished = maybe(.init(distance: maybe(5_000), activeDuration: 1_500, pace: maybe(300)))
        var view = VirtualRunView(
            run: identifier(), user: own.user, revision: revision(),
            status: RunStatus.allCases.randomElement(using: &self)!, host: own.user, settings: runSettings(),
            createdAt: time(), participants: [own])
        view.reason = maybe("expired")
        view.expiresAt = maybe(time())
        view.confirmBy = maybe(time())
        view.startsAt = maybe(time())
        view.prompt = maybe(.init(since: time()))
        view.ghosts = [.init(number: 1, pace: 300), .init(number: 2, user: User("ben")!)]
        var row = RunResult(user: maybe(own.user), ghost: maybe(1), status: .finished)
        row.place = maybe(1)
        row.time = maybe(1_500.25)
        row.distance = maybe(5_000)
        row.activeDuration = maybe(1_500)
        row.elapsedDuration = maybe(1_600)
        row.pauses = maybe(.init(count: 1, seconds: 100))
        row.pace = maybe(300)
        row.behind = maybe(.init(seconds: maybe(3), meters: maybe(9)))
        row.averageHeartRate = maybe(150)
        row.environment = maybe(.indoor)
        row.incomplete = maybe(true)
        row.clockSkew = maybe(-90.5)
        row.hasRoute = maybe(true)
        view.results = maybe(.init(isProvisional: .random(using: &self), rows: [row]))
        return view
    }

    mutating func partners() -> Partners {
        var row = Partners.Row(.participant(User("ben")!), link: .stale)
        row.newest = maybe(time())
        row.activeSeconds = maybe(60)
        row.distance = maybe(180)
        row.speed = maybe(3)
        row.pace = maybe(333)
        row.heartRate = maybe(150)
        row.activeEnergy = maybe(12)
        row.isPaused = maybe(false)
        row.revision = maybe(revision())
        row.age = maybe(9)
        row.gapMeters = maybe(-12.5)
        row.gapSeconds = maybe(-4)
        var partners = Partners(
            run: identifier(), revision: revision(), now: time(),
            rows: [row, Partners.Row(.ghost(1), link: .connected)])
        partners.place = maybe(2)
        partners.distance = maybe(170)
        partners.activeSeconds = maybe(60)
        return partners
    }

    mutating func runPositions() -> RunPositions {
        RunPositions(
            run: identifier(), revision: revision(), now: time(),
            rows: [.init(User("ben")!, at: maybe(time()), la: 52.5, lo: 13.4)])
    }

    mutating func runReplies() -> [Reply] {
        var (listed, routed) = (
            Reply(id: identifier(), revision: nil, now: time()), Reply(id: identifier(), revision: nil, now: time())
        )
        var overview = RunOverview(
            run: identifier(), status: .finished, host: User("anna")!, createdAt: time(), runners: 2, own: .finished)
        overview.name = maybe("Sunday")
        overview.startsAt = maybe(time())
        overview.place = maybe(1)
        listed.runs = [overview]
        routed.routes = [RunRoute(user: User("anna")!, polyline: ["_p~iF~ps|U"], h: maybe([[150, nil]]))]
        routed.splits = [RunSplits(user: maybe(User("anna")!), ghost: maybe(1), RunCurve(pace: 300), upTo: 5_000)]
        return [listed, routed]
    }

    mutating func runCue() -> Announcement {
        let kinds = [Announcement.Kind.gap, .lead, .finished, .lost, .left]
        var cue = Announcement(kinds.randomElement(using: &self)!, at: time(), number: maybe(3))
        cue.user = maybe(User("ben")!)
        cue.ghost = maybe(1)
        cue.place = maybe(2)
        cue.ahead = maybe(.init(.participant(User("ben")!), seconds: maybe(3), meters: maybe(9)))
        cue.behind = maybe(.init(.ghost(1), seconds: maybe(3), meters: maybe(9)))
        cue.taken = maybe(true)
        return cue
    }

    mutating func runPayloads() -> [AsyncAPIDocument.Payload] {
        let requests = runRequests().map { ("virtualRunRequest", JSONCoding.encode($0)) }
        let people = RunPeople(
            revision: revision(), contacts: [User("ben")!], blocked: [User("cleo")!], invitesFrom: .contacts)
        let others = [
            ("virtualRun", JSONCoding.encode(runView())), ("virtualRunPartners", partners().payload),
            ("virtualRunPositions", JSONCoding.encode(runPositions())), ("virtualRunPeople", JSONCoding.encode(people)),
        ]
        let cues = (0..<5).map { _ in ("virtualRunAnnouncements", JSONCoding.encode(runCue())) }
        let replies = runReplies().map { ("replies", JSONCoding.encode($0)) }
        return (requests + others + cues + replies).map { AsyncAPIDocument.Payload(channel: $0.0, bytes: $0.1) }
    }
}
