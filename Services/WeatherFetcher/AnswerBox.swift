import Synchronization

/// Answers on their way from the requests to the loop; there are never more than requests at one time.
final class AnswerBox: Sendable {
    private let answers = Mutex<[WeatherAnswer]>([])

    func add(_ answer: WeatherAnswer) {
        answers.withLock { $0.append(answer) }
    }

    func take() -> [WeatherAnswer] {
        answers.withLock { answers in
            defer { answers = [] }
            return answers
        }
    }
}
