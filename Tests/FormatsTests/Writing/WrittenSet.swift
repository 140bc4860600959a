import FIT
import Workouts

@testable import Formats

/// A set in a FIT file, with the title of its exercise. Times are seconds since the session's start.
struct WrittenSet: Equatable {
    var kind: FITSet.Kind
    var start: Double
    var end: Double
    var duration: Double
    var repetitions: Int?
    var weight: Double?
    var title: String?
    var category: Int?
}

extension WrittenSet {
    static func active(
        _ times: ClosedRange<Double>, _ duration: Double, _ title: String, _ category: Int = 65_534,
        repetitions: Int? = nil, weight: Double? = nil
    ) -> WrittenSet {
        WrittenSet(
            kind: .active, start: times.lowerBound, end: times.upperBound, duration: duration, repetitions: repetitions,
            weight: weight, title: title, category: category)
    }

    static func rest(_ times: ClosedRange<Double>, _ duration: Double) -> WrittenSet {
        WrittenSet(kind: .rest, start: times.lowerBound, end: times.upperBound, duration: duration)
    }
}

extension WrittenSet {
    /// The sets of a file in its order, without those that lack a time or kind.
    static func all(in messages: [FITMessage]) -> [WrittenSet] {
        typealias Field = FITProfile.Set
        typealias Title = FITProfile.ExerciseTitle
        let titles = messages.filter { $0.global == Title.global }
        let begin = messages.first { $0.global == FITProfile.Session.global }?.number(FITProfile.Session.start) ?? 0
        return messages.filter { $0.global == Field.global }.compactMap { message in
            guard let kind = message.integer(Field.type).flatMap(FITSet.Kind.init),
                let start = message.number(Field.start),
                let end = message.number(Field.timestamp), let duration = message.number(Field.duration)
            else { return nil }
            let category = message.integer(Field.category)
            let title = titles.first {
                $0.integer(Title.category) == category && $0.integer(Title.name) == message.integer(Field.subtype)
            }
            return WrittenSet(
                kind: kind, start: start - begin, end: end - begin, duration: duration,
                repetitions: message.integer(Field.repetitions), weight: message.number(Field.weight),
                title: title?.text(Title.text), category: category)
        }
    }
}
