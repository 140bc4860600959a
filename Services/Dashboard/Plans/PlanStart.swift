import Foundation
import Workouts

/// The form that starts a saved plan.
struct PlanStart: Equatable, Sendable {
    private static let metresPerYard = 0.9144
    private static let countdowns = ["0": "None", "3": "3 s", "10": "10 s"]

    /// The session and the press that the form begins: a repeated POST starts nothing new.
    var session = UUID().uuidString.lowercased()
    var press = UUID().uuidString.lowercased()
    /// Empty for the plan's.
    var activity = ""
    /// Empty for the usual one.
    var environment = ""
    var countdown = "3"
    /// The length of the pool as typed, in metres or yards; empty if it is unknown.
    var pool = ""
    var timeZone = ""

    init() {}

    /// The choices of another form, for a start that was refused.
    init(keeping other: PlanStart) {
        (activity, environment, countdown, pool, timeZone) = (
            other.activity, other.environment, other.countdown, other.pool, other.timeZone
        )
    }

    /// Takes its fields out of the form's.
    init(_ fields: inout [String: String]) {
        func take(_ name: String) -> String? { fields.removeValue(forKey: "start.\(name)") }
        session = take("session") ?? session
        press = take("press") ?? press
        activity = take("activity") ?? ""
        environment = take("environment") ?? ""
        countdown = take("countdown") ?? countdown
        pool = take("pool") ?? ""
        timeZone = take("timeZone") ?? ""
    }

    /// The session and its start; `nil` if a field has a value that the form does not offer.
    ///
    /// - Parameter replaces: whether the start discards an unfinished session.
    func command(
        _ definition: WorkoutDefinition, units: Units, zone: String?, replaces: Bool
    ) -> (session: SessionID, start: SessionStart)? {
        guard let session = SessionID(session), let seconds = Double(countdown), Self.countdowns[countdown] != nil,
            activity.isEmpty || Activity(rawValue: activity) != nil,
            environment.isEmpty || Environment(rawValue: environment) != nil
        else { return nil }
        let pool = pool.trimmingCharacters(in: .whitespaces)
        var start = SessionStart(
            activity: Activity(rawValue: activity) ?? definition.activity,
            environment: Environment(rawValue: environment), countdown: seconds, units: units,
            timeZone: TimeZone.isIANA(timeZone) ? timeZone : zone)
        if start.activity.isSwimming, !pool.isEmpty {
            guard let length = Double(pool.replacing(",", with: ".")) else { return nil }
            start.poolLength = units == .imperial ? length * Self.metresPerYard : length
            guard start.poolLength.map(SessionStart.poolLengths.contains) == true else { return nil }
        }
        start.replace = replaces
        start.definition = definition
        return (session, start)
    }

    func page(_ definition: WorkoutDefinition, _ units: Units) -> PlanPage.Start {
        let activity = Activity(rawValue: activity) ?? definition.activity
        return PlanPage.Start(
            session: session, press: press,
            activities: Activity.allCases.map {
                PlanRows.Option(value: $0.rawValue, label: $0.title, isChosen: $0 == activity, hasPool: $0.isSwimming)
            },
            environments: [("", "Usual"), ("outdoor", "Outdoor"), ("indoor", "Indoor")].map {
                PlanRows.Option(value: $0.0, label: $0.1, isChosen: $0.0 == environment)
            },
            countdowns: ["0", "3", "10"].map {
                PlanRows.Option(value: $0, label: Self.countdowns[$0] ?? $0, isChosen: $0 == countdown)
            },
            pool: pool, poolUnit: units == .imperial ? "yd" : "m",
            choicesText: [
                activity.title, environment.isEmpty ? "usual place" : environment,
                countdown == "0" ? "no countdown" : "\(Self.countdowns[countdown] ?? countdown) countdown",
            ].joined(separator: " · "))
    }
}
