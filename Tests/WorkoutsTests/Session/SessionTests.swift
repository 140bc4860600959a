import TestSupport
import Testing
import Workouts

@Suite struct SessionTests {
    private static let key = SessionKey(User("anna")!, SessionID("6f9619ff-8b86-d011-b42d-00c04fc964ff")!)
    private static let watch = StreamName("samples/watch-1")!
    private static let phone = StreamName("samples/phone-2")!

    private static func begin(
        _ start: SessionStart = SessionStart(activity: .running, countdown: 0), at: Double = 0, now: Double = 0
    ) -> Session {
        Session(key: key, start: start, at: year2026 + at, now: year2026 + now)
    }

    private static func session(_ status: SessionStatus) throws -> Session {
        var session = begin(SessionStart(activity: .running, countdown: status == .preparing ? 3 : 0))
        switch status {
        case .paused: try session.apply(.pause, at: year2026 + 10)
        case .saving: try session.apply(.end(streams: [watch: 5]), at: year2026 + 10)
        case .completed:
            try session.apply(.end(streams: [watch: 5]), at: year2026 + 10)
            session.complete()
        case .canceled: try session.apply(.discard, at: year2026 + 10)
        case .suspended: try session.apply(.suspend, at: year2026 + 10)
        case .deleted: session.delete()
        case .preparing, .active: break
        }
        return session
    }

    private static let outcomes: [SessionStatus: [String: SessionStatus]] = [
        .preparing: ["deviceReady": .preparing, "discard": .canceled],
        .active: [
            "deviceReady": .active, "pause": .paused, "suspend": .suspended, "lap": .active, "end": .saving,
            "discard": .canceled,
        ],
        .paused: [
            "deviceReady": .paused, "resume": .active, "suspend": .suspended, "end": .saving, "discard": .canceled,
        ],
        .suspended: ["deviceReady": .suspended, "resume": .active, "end": .saving, "discard": .canceled],
        .saving: ["end": .saving],
        .completed: ["end": .completed],
        .canceled: ["recover": .saving],
        .deleted: [:],
    ]

    @Test(arguments: SessionStatus.allCases)
    func `each status allows its own actions and a refusal changes nothing`(status: SessionStatus) throws {
        let actions: [SessionAction] = [
            .start(SessionStart(activity: .running)), .deviceReady(Device("watch-1")!), .pause, .resume, .lap, .suspend,
            .end(streams: [Self.watch: 7]), .discard, .recover,
        ]
        let before = try Self.session(status)
        #expect(before.statusName == status)
        for action in actions {
            let allowing = SessionStatus.allCases.filter { Self.outcomes[$0]?[action.name] != nil }
            #expect(action.kind.statuses == allowing, "\(action.name)")
            var session = before
            // During the countdown.
            let at = year2026 + (status == .preparing ? 1 : 20)
            if let outcome = Self.outcomes[status]?[action.name] {
                try session.apply(action, at: at)
                #expect(session.statusName == outcome, "\(action.name)")
            } else {
                let refusal = #expect(throws: Refusal.self, "\(action.name)") { try session.apply(action, at: at) }
                #expect(refusal?.code == (status == .deleted ? "session_not_found" : "invalid_state"))
                #expect(session == before)
            }
        }
    }

    @Test func `a live start counts down and becomes active with time`() {
        var session = Self.begin(SessionStart(activity: .running), at: 0, now: 1)
        #expect(session.deadline == year2026 + 3)
        #expect(session.segments.isEmpty)
        let isEarly = session.advance(to: year2026 + 2.9)
        let isOver = session.advance(to: year2026 + 5)
        #expect(!isEarly && isOver)
        #expect(session.segments == [segment(3, nil)])
        #expect(session.deadline == nil)
        let isAgain = session.advance(to: year2026 + 6)
        #expect(!isAgain)
    }

    @Test(arguments: [-61.0, 61.0]) func `a start far from the clock is active right after its countdown`(at: Double) {
        let session = Self.begin(SessionStart(activity: .running, countdown: 10), at: at)
        #expect(session.segments == [segment(at + 10, nil)])
    }

    @Test func `the end of the countdown overrides its length`() {
        let start = SessionStart(activity: .running, countdown: 10, startAt: year2026 + 4)
        #expect(Self.begin(start).deadline == year2026 + 4)
    }

    @Test func `a command after the countdown finds the session active without a tick`() throws {
        var session = try Self.session(.preparing)
        try session.apply(.pause, at: year2026 + 8)
        #expect(session.segments == [segment(3, 8)])
    }

    @Test func `a command before the last transition takes effect at that transition`() throws {
        var session = Self.begin(at: 100, now: 100)
        try session.apply(.pause, at: year2026 + 110)
        try session.apply(.resume, at: year2026 + 105)
        try session.apply(.end(streams: [:]), at: year2026 + 50)
        #expect(session.segments == [segment(100, 110), segment(110, 110)])
        #expect(session.endedAt == year2026 + 110)
    }

    @Test func `the end of a second device adds its streams and changes nothing else`() throws {
        var session = try Self.session(.saving)
        try session.apply(.end(streams: [Self.phone: 9, Self.watch: 3]), at: year2026 + 99)
        #expect(session.streams == [Self.watch: 5, Self.phone: 9])
        #expect(session.endedAt == year2026 + 10)
    }

    @Test func `an end with too many streams is refused`() throws {
        var session = try Self.session(.saving)
        let many = Dictionary(uniqueKeysWithValues: (0..<64).map { (StreamName("samples/pod-\($0)")!, 1) })
        let before = session
        let refusal = #expect(throws: Refusal.self) { try session.apply(.end(streams: many), at: year2026) }
        #expect(refusal?.code == "invalid_command")
        #expect(session == before)
    }

    @Test func `segments never overlap for any commands in any order`() throws {
        var random = SeededRandom()
        for _ in 0..<300 {
            var session = Self.begin(at: 0, now: 0)
            for _ in 0..<30 {
                let actions: [SessionAction] = [
                    .pause, .resume, .lap, .suspend, .deviceReady(Device("watch-1")!), .pause, .resume, .recover,
                    .end(streams: [:]), .discard,
                ]
                let count = Int.random(in: 0..<10, using: &random) == 0 ? 10 : 8
                let action = actions[Int.random(in: 0..<count, using: &random)]
                let times = (0..<2).map { _ in year2026 + Double.random(in: -100...1_000, using: &random) }
                try? session.apply(action, at: times[0], newest: times[1])
                guard Int.random(in: 0..<30, using: &random) == 0 else { continue }
                session.expire()
                session.restore(hasOther: Int.random(in: 0..<8, using: &random) == 0, newest: times[1])
            }
            let edges = session.segments.flatMap { [$0.start, $0.end ?? year2026 + 1_000] }
            #expect(edges == edges.sorted())
            #expect(session.laps == session.laps.sorted())
            #expect(session.segments.dropLast().allSatisfy { $0.end != nil })
            // A session canceled while the clock ran keeps its segment open for a restore.
            if ![.active, .canceled].contains(session.statusName) {
                #expect(session.segments.allSatisfy { $0.end != nil })
            }
        }
    }

    @Test(arguments: [false, true]) func `exactly the allowed commands change a session`(isPlanned: Bool) throws {
        var random = SeededRandom()
        var refused: Set<SessionAction.Kind> = []
        for _ in 0..<300 {
            var start = SessionStart(activity: .running)
            start.definition = isPlanned ? random.definition() : nil
            var session = Self.begin(start, at: 0, now: 0)
            // Close to the limits of pauses and laps.
            for _ in 0..<(Int.random(in: 0..<8, using: &random) == 0 ? Session.segmentLimit : 0) {
                try? session.apply(.lap, at: year2026 + 10)
                try? session.apply(.pause, at: year2026 + 10)
                try? session.apply(.resume, at: year2026 + 10)
            }
            for step in 0..<20 {
                let at = year2026 + Double(step)
                let actions: [SessionAction] = [
                    .start(start), .deviceReady(Device("watch-1")!), .pause, .resume, .lap, .suspend,
                    .end(streams: [Self.watch: 7 + step]), .discard, .recover, .update(SessionUpdate(units: .imperial)),
                    .plan(.completeSet(SetCompletion())), .plan(.uncompleteSet(SetReference())),
                    .plan(.skipExercise(item: nil)), .plan(.flagPain(item: nil)),
                    .plan(.swapExercise(item: nil, alternative: nil)), .plan(.adjustDifficulty(item: nil, .easier)),
                    .plan(.goTo(item: "x")), .plan(.setPresentationMode(.list)),
                ]
                #expect(Set(actions.map(\.kind)) == Set(SessionAction.Kind.allCases))
                _ = session.advance(to: at)
                let allowed = session.allowed
                for action in actions {
                    var next = session
                    let isAccepted = (try? next.apply(action, at: at)) != nil
                    let isRepeatedEnd = action.kind == .end && session.statusName.isEnded
                    let isAllowed = allowed.contains(action.kind)
                    if !isAllowed { refused.insert(action.kind) }
                    // The plan may refuse an allowed command for its fields.
                    let agrees = isAccepted == (isAllowed || isRepeatedEnd) || action.kind.isOfPlan && isAllowed
                    #expect(agrees, "\(action.kind) while \(session.statusName), seed \(random.seed)")
                }
                try? session.apply(actions[Int.random(in: 1..<actions.count, using: &random)], at: at)
            }
        }
        #expect(refused == Set(SessionAction.Kind.allCases))
    }

    @Test func `names, symbols and types follow the activity`() {
        let session = Self.begin(SessionStart(activity: .cycling, environment: .indoor))
        #expect(session.name == "Indoor Cycling")
        #expect(Activity.cycling.symbol(.indoor) == "figure.indoor.cycle")
        #expect(Activity.hiit.healthKitActivityType == 63)
        #expect(Self.begin(SessionStart(activity: .hiit)).environment == .indoor)
        #expect(Self.begin(SessionStart(activity: .running, name: "Dawn")).name == "Dawn")
    }
}
