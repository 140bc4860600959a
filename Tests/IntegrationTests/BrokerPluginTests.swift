import Foundation
import MQTT
import TestSupport
import Testing

/// The broker's plugin against clients of all kinds, on a broker as `compose/up` starts it.
@Suite(.serialized, .timeLimit(.minutes(60)))
struct BrokerPluginTests {
    /// The scenarios in `broker_plugin.py`.
    private static let scenarios = [
        "three_devices_flush_ten_hours_at_once",
        "a_client_with_retain_and_a_lasting_session_works",
        "retained_messages_on_own_topics_stay_nowhere",
        "an_own_offline_session_holds_little",
        "clients_that_never_read_hold_little",
        "clients_that_never_read_qos_1_hold_little",
        "clients_that_never_acknowledge_hold_little",
        "a_flood_is_refused_until_it_ends",
        "connections_are_bounded",
        "accounts_change_while_a_fleet_runs",
        "a_reload_of_the_broker_disconnects_no_client",
        "a_revoked_device_alone_is_disconnected",
        "services_passwords_rotate",
        "retained_wills_are_refused",
        "forged_topics_are_refused",
        "a_client_id_belongs_to_one_account",
        "wrong_passwords_slow_no_login",
        "a_password_that_is_not_checked_is_not_refused",
        "operators_see_the_limits",
        "subscriptions_are_bounded",
        "subscriptions_of_an_account_are_bounded",
        "copies_to_own_connections_are_bounded",
        "subscribing_again_to_retained_messages_is_bounded",
        "the_newest_connections_close_if_services_messages_exceed_the_limit",
        "a_viewed_users_flood_hurts_no_viewer",
        "a_viewer_of_a_hundred_users_meets_no_limit",
        "an_account_sees_the_last_use_of_its_devices",
        "an_account_sees_the_last_use_of_its_browser_logins",
        "a_viewer_of_several_gains_and_loses_users_on_open_connections",
        "random_files_of_accounts_give_exactly_their_rights",
        "viewers_of_a_hundred_take_little_memory",
    ]

    @Test(arguments: scenarios)
    func `one account cannot hurt others`(scenario: String) async throws {
        let compose = try ComposeFolder()
        try await compose.needAccounts()
        let broker = try await compose.startBroker()
        defer { broker.process.end(SIGTERM) }
        let program = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "broker_plugin.py").path
        let log = compose.folder.file("scenario.log")
        let client = try ChildProcess(
            ["env", "-C", compose.folder.path, Python.interpreter, program, scenario, "\(broker.port)"], log: log)
        let status = await client.finish()
        let output = try String(contentsOfFile: log, encoding: .utf8)
        #expect(status == 0, "\(output)")
    }
}
