import Bus
import Foundation
import TestSupport
import Testing
import Workouts

extension SeededRandom {
    /// A valid planned workout.
    mutating func definition() -> WorkoutDefinition {
        let shared = maybe(timerConfiguration())
        let sections = (0..<Int.random(in: 1...3, using: &self)).map { _ in section(shared) }
        return WorkoutDefinition(
            name: maybe(exerciseName()), focus: maybe(words()), equipment: maybe(words()), timer: shared,
            sections: sections)
    }

    private mutating func section(_ shared: TimerConfiguration?) -> WorkoutDefinition.Section {
        let timer = maybe(timerConfiguration())
        let isPaced = (timer ?? shared)?.isPaced ?? false
        let rounds = (timer ?? shared)?.plannedRounds ?? 1
        let items = (0..<Int.random(in: 1...(isPaced ? min(3, rounds) : 3), using: &self)).map { _ in
            let own = exercise("", isPaced: isPaced)
            let alternatives = (0..<Int.random(in: 0...3, using: &self)).map { exercise("\($0) ", isPaced: isPaced) }
            return WorkoutDefinition.Item(
                id: maybe("\"\(CommandID(UUID()))"), name: own.name, exercise: own.exercise, sets: own.sets,
                alternatives: maybe(alternatives))
        }
        return WorkoutDefinition.Section(name: maybe(exerciseName()), timer: timer, items: items)
    }

    mutating func timerConfiguration() -> TimerConfiguration {
        let seconds = Double.random(in: 1...600, using: &self)
        let rounds = Int.random(in: 1...4, using: &self)
        return switch some(TimerConfiguration.Kind.self) {
        case .stopwatch: TimerConfiguration(.stopwatch)
        case .countdown: TimerConfiguration(.countdown, work: seconds)
        case .interval: TimerConfiguration(.interval, work: seconds, rest: maybe(seconds), rounds: rounds)
        case .emom: TimerConfiguration(.emom, work: maybe(seconds), rounds: rounds)
        case .amrap: TimerConfiguration(.amrap, cap: seconds)
        case .forTime: TimerConfiguration(.forTime, rounds: maybe(rounds), cap: maybe(seconds))
        }
    }

    /// - Parameter prefix: distinguishes the exercise from others of its item.
    mutating func exercise(_ prefix: String, isPaced: Bool) -> PlannedExercise {
        let sets = (0..<Int.random(in: 1...(isPaced ? 1 : 3), using: &self)).map { _ in
            PlannedSet(
                repetitions: maybe(.random(in: 1...1_000, using: &self)),
                weight: maybe(.random(in: 0...1_000, using: &self)),
                time: maybe(.random(in: 1...36_000, using: &self)), rest: maybe(.random(in: 0...3_600, using: &self)))
        }
        return PlannedExercise(
            name: prefix + exerciseName(), exercise: maybe(some(ExerciseCategory.self)), sets: maybe(sets))
    }

    private mutating func exerciseName() -> String {
        ["Squat", "Klimmzüge \"breit\" \\ / 🏋️", "跳绳", "x"].randomElement(using: &self)!
    }

    private mutating func words() -> [String] {
        let words = ["running", "Rower", "bike", "pool", "conditioning", "barbell"]
        return Array(words.shuffled(using: &self).prefix(.random(in: 0...3, using: &self)))
    }

    /// One action of every kind.
    mutating func planActions(_ plan: SessionPlan) -> [PlanAction] {
        let items = plan.blocks.flatMap(\.items)
        func item(_ random: inout SeededRandom) -> String? {
            items.randomElement(using: &random).flatMap { random.maybe($0.id) }
        }
        func reference(_ random: inout SeededRandom) -> SetReference {
            SetReference(
                item: item(&random), set: random.maybe(.random(in: 0...2, using: &random)),
                round: random.maybe(.random(in: 1...4, using: &random)))
        }
        return [
            .completeSet(SetCompletion(reference(&self))),
            .completeSet(
                SetCompletion(
                    reference(&self), repetitions: maybe(.random(in: 1...1_000, using: &self)),
                    weight: maybe(.random(in: 0...1_000, using: &self)),
                    time: maybe(.random(in: 1...36_000, using: &self)))),
            .uncompleteSet(reference(&self)), .skipExercise(item: item(&self)), .flagPain(item: item(&self)),
            .swapExercise(item: item(&self), alternative: maybe("0 Squat")),
            .adjustDifficulty(item: item(&self), some(Difficulty.self)), .goTo(item: items[0].id),
            .setPresentationMode(some(PlanProgress.PresentationMode.self)),
        ]
    }

    /// A session before and after actions on its plan; refused actions change nothing.
    mutating func train(_ session: inout Session, at moment: Timestamp) {
        guard let plan = session.planState(moment)?.plan else { return }
        for action in planActions(plan).shuffled(using: &self) {
            let at = moment + .random(in: -50...0, using: &self)
            do throws(Refusal) {
                try session.apply(.plan(action), at: at)
            } catch {
                #expect(["invalid_state", "invalid_command"].contains(error.code), "\(error.message)")
            }
        }
    }

    /// Payloads of planned workouts other than commands.
    mutating func planPayloads() throws -> [AsyncAPIDocument.Payload] {
        let plans = SavedPlans(
            revision: revision(),
            plans: (0..<Int.random(in: 0...4, using: &self)).map { _ in
                .init(plan: identifier(), savedAt: time(), definition: definition())
            })
        let requests = try coachRequests().map {
            AsyncAPIDocument.Payload(channel: "coachRequest", bytes: JSONCoding.encode($0))
        }
        let replies = coachReplies().map {
            AsyncAPIDocument.Payload(channel: "coachReply", bytes: JSONCoding.encode($0))
        }
        return [.init(channel: "plans", bytes: JSONCoding.encode(plans))] + requests + replies
    }

    mutating func coachRequests() throws -> [CoachRequest] {
        try CoachRequest.Kind.allCases.map { kind in
            let begin = time()
            var start = SessionStart(activity: some(Activity.self), countdown: 0)
            start.definition = definition()
            var session = Session(key: SessionKey(user(), identifier()), start: start, at: begin, now: begin)
            train(&session, at: begin + 60)
            let state = try #require(session.planState(begin + 90))
            return CoachRequest(
                id: identifier(), session: session.key.session, type: kind, activity: session.activity,
                item: maybe(state.progress.item), difficulty: maybe(some(Difficulty.self)), plan: state.plan,
                progress: state.progress, answerBy: begin + 93)
        }
    }

    mutating func coachReplies() -> [CoachReply] {
        let exercises = ["1-1": exercise("", isPaced: true), "2-3": exercise("", isPaced: false)]
        return [
            CoachReply(id: identifier(), exercises: exercises),
            CoachReply(id: identifier(), error: "no other exercise for the knees"),
        ]
    }
}
