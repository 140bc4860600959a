import Synchronization

/// Outcomes on their way from the deliveries to the loop; there are never more than deliveries at one time.
final class OutcomeBox: Sendable {
    private let outcomes = Mutex<[DeliveryOutcome]>([])

    func add(_ outcome: DeliveryOutcome) {
        outcomes.withLock { $0.append(outcome) }
    }

    func take() -> [DeliveryOutcome] {
        outcomes.withLock { outcomes in
            defer { outcomes = [] }
            return outcomes
        }
    }
}
