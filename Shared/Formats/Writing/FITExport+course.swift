import FIT
import Workouts

extension FITExport {
    /// The messages between records.
    private enum Mark {
        case timer(starts: Bool)
        case weather(Weather)
        case set(FITSet)
        case lap(index: Int, Lap)

        var isStart: Bool {
            if case .timer(starts: true) = self { true } else { false }
        }
    }

    /// Appends records, timer events, sets, laps and the weather. Within one second a timer start precedes the records,
    /// and all other messages follow them.
    mutating func addCourse() throws {
        var marks = marks[...]
        let columns = recordColumns
        let developerColumns = try developerColumns
        file.describe(developerColumns.map { ($0.quantity.name, $0.quantity.unit) })
        var points = Seconds(exported.points, clock)
        while let (second, point) = try points.next() {
            while let (time, mark) = marks.first, time < second || time == second && mark.isStart {
                addMark(mark, at: time)
                marks.removeFirst()
            }
            file.addMessage(
                FITProfile.Record.global,
                [.init(FITProfile.timestamp, second)] + columns.map { .init($0.field, $0.value(point)) },
                developer: developerColumns.enumerated().map { index, column in
                    .init(UInt8(index), point.values[all: column.quantity], count: column.count)
                })
            try pieces.pass(&file)
        }
        for (time, mark) in marks { addMark(mark, at: time) }
    }

    /// Sorted by time.
    private var marks: [(time: Double, mark: Mark)] {
        var marks: [(time: Double, mark: Mark)] = clock.segments.flatMap {
            [($0.start, Mark.timer(starts: true)), ($0.end, .timer(starts: false))]
        }
        if let weather = workout.weather {
            marks.append((min(max(clock.start, clock[weather.fetchedAt]), clock.end), .weather(weather)))
        }
        marks += sets.sets.map { ($0.end, .set($0)) }
        marks += laps.enumerated().map { ($1.end, .lap(index: $0, $1)) }
        // Sorting is stable: a stop and a start of the same second stay as they are.
        return marks.sorted { $0.time < $1.time }
    }

    private mutating func addMark(_ mark: Mark, at time: Double) {
        switch mark {
        case .timer(let starts): addTimerEvent(at: time, starts: starts)
        case .weather(let weather): addWeather(weather, at: time)
        case .set(let set): file.addSet(set)
        case .lap(let index, let lap): addLap(lap, index: index)
        }
    }

    private mutating func addTimerEvent(at time: Double, starts: Bool) {
        typealias Field = FITProfile.Event
        file.addMessage(
            Field.global,
            [
                .init(FITProfile.timestamp, time), .init(Field.event, FITCode.timer),
                .init(Field.type, (starts ? FITActivity.TimerEvent.Kind.start : .stopAll).rawValue),
                .init(Field.group, 0),
            ])
    }

    private mutating func addWeather(_ weather: Weather, at time: Double) {
        typealias Field = FITProfile.WeatherConditions
        file.addMessage(
            Field.global,
            [
                .init(FITProfile.timestamp, time), .init(Field.report, 0),
                .init(Field.temperature, weather.temperature),
                .init(Field.apparentTemperature, weather.apparentTemperature),
                .init(Field.condition, weather.condition.fitStatus.map(Double.init)),
                .init(Field.windSpeed, weather.windSpeed),
                .init(Field.humidity, weather.humidity.map { $0 * 100 }),
                .init(Field.observed, clock[weather.observedAt]),
            ])
    }
}
