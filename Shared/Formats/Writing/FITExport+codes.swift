import Workouts

/// FIT's numbers of events.
enum FITCode {
    static let timer = 0
    static let session = 8
    static let lap = 9
    static let activity = 26
    /// The type of the event that ends a lap, a session or an activity.
    static let stop = 1
    /// The trigger of a lap.
    static let manual = 0
    static let sessionEnd = 7
}

extension ExerciseCategory {
    /// FIT's `exercise_category`.
    var fitCategory: Int {
        switch self {
        case .benchPress: 0
        case .core: 5
        case .curl: 7
        case .deadlift: 8
        case .lunge: 17
        case .plank: 19
        case .pullUp: 21
        case .pushUp: 22
        case .row: 23
        case .shoulderPress: 24
        case .sitUp: 27
        case .squat: 28
        }
    }
}

extension WeatherCondition {
    /// FIT's `weather_status`.
    var fitStatus: Int? {
        switch self {
        case .clear: 0
        case .partlyCloudy: 1
        case .cloudy: 22
        case .fog: 8
        case .haze: 11
        case .windy: 5
        case .drizzle: 16
        case .rain: 3
        case .heavyRain: 17
        case .freezingRain, .sleet: 7
        case .snow: 4
        case .heavySnow: 19
        case .hail: 12
        case .thunderstorm, .storm: 6
        case .unknown: nil
        }
    }
}
