import TestSupport
import Workouts

extension SeededRandom {
    mutating func some<Value: CaseIterable>(_ type: Value.Type) -> Value where Value.AllCases == [Value] {
        Value.allCases.randomElement(using: &self)!
    }

    mutating func profile() -> Profile {
        var profile = Profile()
        profile.units = maybe(some(Units.self))
        profile.birthYear = maybe(.random(in: 1930...2015, using: &self))
        profile.sex = maybe([.female, .male, .other].randomElement(using: &self)!)
        profile.weight = maybe(.random(in: 20...400, using: &self))
        profile.restingHeartRate = maybe(.random(in: 20...150, using: &self))
        profile.maximumHeartRate = maybe(.random(in: 80...250, using: &self))
        profile.thresholdHeartRate = maybe(.random(in: 60...240, using: &self))
        profile.thresholdPower = maybe(.random(in: 30...1_000, using: &self))
        profile.zones = maybe((0..<4).map { _ in Double.random(in: 20...300, using: &self) }.sorted())
        profile.timeZone = maybe("Europe/Berlin")
        return profile
    }

    mutating func place() -> Place {
        Place(la: .random(in: -90...90, using: &self), lo: .random(in: -180...180, using: &self))
    }

    mutating func start() -> SessionStart {
        // A name has at most 200 bytes.
        let name = ["Morgenlauf \"um\" \\ / \u{1F3C3}", "x", String(repeating: "\u{1F3C3}", count: 50)]
        var start = SessionStart(
            activity: some(Activity.self), environment: maybe(some(Environment.self)),
            name: maybe(name.randomElement(using: &self)!), mode: maybe(some(Mode.self)),
            countdown: maybe(.random(in: 0...600, using: &self)), startAt: maybe(time()),
            units: maybe(some(Units.self)), timeZone: maybe("Europe/Berlin"))
        start.endAt = maybe(time())
        start.permissions = maybe(Permissions(heartRate: .random(using: &self), workouts: .random(using: &self)))
        start.place = maybe(place())
        start.replace = .random(using: &self)
        start.poolLength = maybe(.random(in: 5...200, using: &self))
        start.run = maybe(identifier())
        start.notSynced = maybe(identifier())
        start.definition = maybe(definition())
        return start
    }

    /// A session on its way through all statuses, starting with the countdown.
    mutating func sessions() throws -> [Session] {
        let begin = time()
        var start = start()
        start.startAt = maybe(begin + .random(in: 1...600, using: &self))
        start.endAt = begin
        var past = Session(key: SessionKey(user(), identifier()), start: start, at: begin, now: begin)
        try past.apply(.end(streams: streams()), at: begin + 700)
        past.complete()
        start.endAt = maybe(begin + .random(in: 700...2_000, using: &self))
        var session = Session(
            key: SessionKey(user(), identifier()), start: start, profile: maybe(profile()), at: begin, now: begin)
        var sessions = [past, session] + (try givenUp(session, at: begin))
        while let deadline = session.deadline, session.advance(to: deadline) { sessions.append(session) }
        let actions: [SessionAction] = [
            .deviceReady(Device("watch-1")!), .lap, .pause, .resume, .suspend, .resume, .pause, .suspend,
            .end(streams: streams()),
        ]
        var moment = begin + 700
        for action in actions {
            try session.apply(action, at: moment)
            if session.isUnfinished { train(&session, at: moment) }
            sessions.append(session)
            if session.isUnfinished { sessions += try givenUp(session, at: moment) }
            moment = moment + .random(in: 0...100, using: &self)
        }
        session.receiveFirstItem()
        session.complete()
        sessions.append(session)
        session.delete()
        return sessions + [session]
    }

    /// The ends of an unfinished session: discarded, expired, restored with and without another session, recovered,
    /// deleted.
    private mutating func givenUp(_ session: Session, at moment: Timestamp) throws -> [Session] {
        let newest = maybe(moment + .random(in: 0...100, using: &self))
        var discarded = session
        try discarded.apply(.discard, at: moment)
        var expired = session
        expired.expire()
        var sessions = [discarded, expired]
        for hasOther in [false, true] {
            var restored = expired
            restored.restore(hasOther: hasOther, newest: newest)
            sessions.append(restored)
        }
        for canceled in [discarded, expired] {
            var recovered = canceled
            try recovered.apply(.recover, at: moment, newest: newest)
            var deleted = canceled
            deleted.delete()
            sessions += [recovered, deleted]
        }
        return sessions
    }
}
