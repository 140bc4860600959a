import Synchronization

/// What became of a push, and how long that took.
struct EndedPush: Sendable {
    let push: Push
    let outcome: PushOutcome
    let took: Duration
}

/// Outcomes on their way from the pushes to the loop; there are never more than pushes at one time.
final class OutcomeBox: Sendable {
    private let outcomes = Mutex<[EndedPush]>([])

    func add(_ outcome: EndedPush) {
        outcomes.withLock { $0.append(outcome) }
    }

    func take() -> [EndedPush] {
        outcomes.withLock { outcomes in
            defer { outcomes = [] }
            return outcomes
        }
    }
}
