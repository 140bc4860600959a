import Bus
import Client
import Foundation
import Workouts

/// The text of virtual runs and people.
extension Text {
    /// A run and its participants, without live figures.
    static func run(_ view: VirtualRunView) -> String { run(view, nil, nil) }

    /// A run with a line for each runner in group order, or its results.
    ///
    /// - Parameter metrics: the live metrics of the reader.
    static func run(_ view: VirtualRunView, _ partners: Partners?, _ metrics: MetricsSnapshot?) -> String {
        let title = "\(title(view))\n"
        if let results = view.results, view.status.isOver {
            return title + "  results\(results.provisional == true ? ", provisional" : "")\n"
                + results.rows.map(result).joined()
        }
        let names = view.participants.map { "\($0.user)" } + view.ghosts.map(name)
        let width = names.map(\.count).max() ?? 0
        let rows = Dictionary((partners?.rows ?? []).map { ($0.runner, $0) }) { first, _ in first }
        let participants = view.participants.map { participant in
            participant.user == view.user
                ? own(participant, partners, metrics)
                : runner(participant, rows[.participant(participant.user)], beside: partners?.distance)
        }
        let ghosts = view.ghosts.map { rows[.ghost($0.number)].map { figures($0, beside: partners?.distance) } ?? "" }
        return title
            + zip(names, participants + ghosts).map { name, text in
                "  \(name.padding(toLength: width, withPad: " ", startingAt: 0))  \(text)".trimmingSuffix(" ") + "\n"
            }.joined()
    }

    /// `0757…, Morning Run, running, 5.00 km, host ann`.
    static func title(_ view: VirtualRunView) -> String {
        let goal: String? =
            switch view.settings.goal {
            case .distance(let meters): distance(meters)
            case .duration(let seconds): duration(seconds)
            case nil: nil
            }
        let reason = view.reason.map { " (\($0))" } ?? ""
        let start = view.settings.start == .rolling ? "rolling" : nil
        let scheduled = view.startsAt == nil ? view.settings.scheduledAt.map { "at \(day($0, .current))" } : nil
        return [
            "\(view.run)", view.settings.name, view.status.rawValue + reason, goal, start, scheduled,
            "host \(view.host)",
        ].compactMap(\.self).joined(separator: ", ")
    }

    /// A run of the list.
    static func overview(_ run: RunOverview) -> String {
        let parts = [
            run.name, run.status.rawValue, "\(run.runners) runners", "host \(run.host)",
            run.place.map { "place \($0)" } ?? run.own.rawValue,
        ]
        return "\(run.run)  \(day(run.startsAt ?? run.createdAt, .current))  "
            + parts.compactMap(\.self).joined(separator: ", ") + "\n"
    }

    static func people(_ people: RunPeople) -> String {
        func names(_ title: String, _ users: [User]) -> String {
            "\(title): \(users.isEmpty ? "none" : users.map(\.description).joined(separator: ", "))\n"
        }
        return names("contacts", people.contacts) + names("blocked", people.blocked)
            + "invitations from: \(people.invitesFrom.rawValue)\n"
    }

    // MARK: Runners

    private static func own(
        _ participant: VirtualRunView.Participant, _ partners: Partners?, _ metrics: MetricsSnapshot?
    ) -> String {
        guard participant.status == .running else { return status(participant) }
        let place = partners?.place.map { "place \($0)" }
        let values = [
            column((partners?.distance ?? metrics?.distance).map(distance), 8),
            column(metrics?.displayPace.map { pace($0) }, 9), column(metrics?.heartRate.map(heartRate), 7), place,
        ]
        return values.compactMap(\.self).joined(separator: "  ")
    }

    private static func runner(
        _ participant: VirtualRunView.Participant, _ row: Partners.Row?, beside own: Double?
    ) -> String {
        guard participant.status == .running, let row else { return status(participant) }
        return figures(row, beside: own)
    }

    /// A gap that the metres do not show was so at another time of the run's clock, or is as old as the data.
    private static func figures(_ row: Partners.Row, beside own: Double?) -> String {
        let link = row.link == .finished ? "finished" : link(row)
        let shown = own.flatMap { own in row.distance.map { $0 - own } }
        let isElsewhere = row.isCurrent && abs((shown ?? 0) - (row.gapMeters ?? shown ?? 0)) >= 1
        let time = isElsewhere ? row.activeSeconds.map { " at \(duration($0))" } ?? "" : ""
        let text = [gap(row).map { $0 + time }, link].compactMap(\.self).joined(separator: ", ")
        return [
            column(row.distance.map(distance), 8), column(row.pace.map { pace($0) }, 9),
            column(row.heartRate.map(heartRate), 7), text,
        ].joined(separator: "  ")
    }

    /// `accepted`; `declined (expired)`; `finished, 5.00 km, 26:10, 5:14 /km`.
    private static func status(_ participant: VirtualRunView.Participant) -> String {
        let finish = participant.finished.map { finish in
            [finish.distance.map(distance), duration(finish.activeDuration), finish.pace.map { pace($0) }]
        }
        let reason =
            participant.reason.map { reason in
                reason == "unconfirmed" ? " (unconfirmed: go was not sent within 60 s)" : " (\(reason))"
            } ?? ""
        return (["\(participant.status.rawValue)\(reason)"] + (finish ?? [])).compactMap(\.self).joined(separator: ", ")
    }

    /// `  1. ann  21:35  5.00 km  4:19 /km  142 bpm`.
    private static func result(_ result: RunResult) -> String {
        let place = column(result.place.map { "\($0)." }, 3)
        let name = result.user == nil && result.ghost == nil ? "deleted account" : name(result.user, result.ghost)
        let behind = result.behind.flatMap { behind in
            behind.seconds.map(Text.behind) ?? behind.meters.map { "-\(distance($0))" }
        }
        let pauses = result.pauses.flatMap { pauses in
            pauses.count == 0
                ? nil : "\(pauses.count) pause\(pauses.count == 1 ? "" : "s"), \(duration(pauses.seconds))"
        }
        let values: [String?] = [
            result.status == .finished ? nil : result.status.rawValue, result.time.map(duration),
            result.distance.map(distance), result.pace.map { pace($0) }, result.averageHeartRate.map(heartRate), behind,
            pauses, result.environment == .indoor ? "indoor" : nil, result.incomplete == true ? "incomplete" : nil,
            result.clockSkew.map { "clock \(Int($0.magnitude.rounded())) s off" },
        ]
        return "  \(place) \(([name] + values).compactMap(\.self).joined(separator: "  "))\n"
    }

    private static func name(_ ghost: VirtualRunView.Ghost) -> String {
        let source = ghost.pace.map { pace($0) } ?? ghost.user.map { "\($0)" }
        return "ghost \(ghost.number)" + (source.map { " (\($0))" } ?? "")
    }

    /// Right-aligned.
    private static func column(_ text: String?, _ width: Int) -> String {
        String(repeating: " ", count: max(0, width - (text?.count ?? 0))) + (text ?? "")
    }
}

extension String {
    fileprivate func trimmingSuffix(_ character: Character) -> Substring {
        self[..<(lastIndex { $0 != character }.map(index(after:)) ?? startIndex)]
    }
}
