import Bus
import Foundation
import MQTT
import Testing
import Workouts

@testable import Dashboard

/// What the live page shows without JavaScript.
struct LivePageTests {
    private static let key = sessionKey(anna, 1)

    private func page(
        _ status: String = "active", activity: String = "running", averagePace: String = #""ap":304,"#,
        skew: String = "", reader: Login = login(anna), after age: Double
    ) throws -> LivePage {
        let measured = 1_800_000_000.0
        let state = """
            {"session":"\(Self.key.session)","user":"anna","revision":1,"status":"\(status)","activity":"\(activity)",
            "environment":"outdoor","name":"Run","symbol":"figure.run","healthKitActivityType":37,"mode":"watch",
            "startedAt":\(measured - 600),"segments":[[\(measured - 600),null]],"laps":[],"units":"metric",
            "isLive":true,"clockSkew":{\(skew)},"streams":{}}
            """
        let metrics = """
            {"u":"anna","s":\(Int(measured * 1000)),"c":\(measured),"d":2500,"dp":345,"dv":2.9,"h":142,"ha":131,\(averagePace)
            "w":231,"n":10,"pa":false,"lp":1,"ds":{"watch-1":{"c":\(measured)}}}
            """
        return LivePage(
            Self.key, try SessionState(Array(state.utf8)), try MetricsSnapshot(Array(metrics.utf8)), login: reader,
            units: .metric, assets: "/assets", configuration: DashboardConfiguration(),
            now: Timestamp(microseconds: Int64((measured + age) * 1_000_000)))
    }

    private func texts(_ page: LivePage) -> [String: String] {
        Dictionary(uniqueKeysWithValues: (page.main + page.more).map { ($0.key, $0.number) })
    }

    @Test func `values of the moment are unknown from 15 s on, and the page has the age of the data`() throws {
        let fresh = try page(after: 14)
        #expect(texts(fresh)["pace"] == "5:45" && texts(fresh)["heartRate"] == "142" && texts(fresh)["power"] == "231")
        #expect(fresh.dataAge == "14 s")
        let old = try page(after: 3_700)
        #expect(texts(old)["pace"] == "--" && texts(old)["heartRate"] == nil && texts(old)["power"] == nil)
        #expect(texts(old)["distance"] == "2.50" && texts(old)["averageHeartRate"] == "131")
        #expect(old.dataAge == "1:01:40")
    }

    @Test func `the clock of a device that is ahead makes no data fresh`() throws {
        #expect(try texts(page(skew: #""watch-1":60"#, after: 1))["pace"] == "--")
        #expect(try texts(page(skew: #""watch-1":-60"#, after: 61))["pace"] == "5:45")
    }

    @Test func `a viewer's account controls no workout, even of its own name`() throws {
        let viewer = Login(
            id: LoginToken().id, account: .person(anna), password: Secret(""),
            rights: .init(seen: [anna], isViewer: true))
        #expect(try page(after: 1).isOwner && !page(reader: viewer, after: 1).isOwner)
    }

    @Test func `a workout that only the history knows shows its totals`() throws {
        let totals = try WorkoutTotals(
            Array(
                #"{"revision":1,"activity":"running","name":"Morning","startedAt":1763445600,"timeZone":"Europe/Berlin","#
                    .utf8) + Array(#""activeDuration":2400,"distance":5210.4}"#.utf8))
        func page(_ totals: WorkoutTotals?, _ units: Units = .metric) -> LivePage {
            LivePage(
                Self.key, nil, nil, totals, login: login(anna), units: units, assets: "/assets",
                configuration: DashboardConfiguration(), now: Timestamp(seconds: 1_800_000_000))
        }
        let past = page(totals)
        #expect(past.name == "Morning" && past.status == "completed" && past.statusText == "Finished")
        #expect(past.main.map(\.number) == ["40:00", "5.21"] && !past.expectsMap && past.metres == 5210.4)
        #expect(past.past == "Started Tue 18 Nov 2025, 07:00. Only the totals are available here.")
        #expect(page(totals, .imperial).main[1].number == "3.24")
        #expect(page(nil).statusText == "Waiting for data" && page(nil).past == nil && page(nil).expectsMap)
    }

    @Test func `a workout that is not active shows averages`() throws {
        let paused = try page("paused", after: 1)
        #expect(paused.main[3].label == "Average pace" && paused.main[3].number == "5:04")
        #expect(texts(paused)["heartRate"] == nil && texts(paused)["averageHeartRate"] == "131")
        // 2.5 km in 10 minutes.
        #expect(try page("paused", activity: "cycling", after: 1).main[3].number == "15.0")
        for activity in ["rowing", "hiking", "other"] {
            let finished = try page("completed", activity: activity, averagePace: "", after: 1)
            #expect(texts(finished)["averageSpeed"] == "15.0")
        }
        #expect(try page("completed", activity: "rowing", after: 1).main[3].number == "131")
    }
}
