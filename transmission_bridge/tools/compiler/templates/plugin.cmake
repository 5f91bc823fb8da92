
# The plugin for hardware components that load transmissions.
find_package(transmission_interface QUIET)
if(pluginlib_FOUND AND transmission_interface_FOUND)
  add_library(NAME_transmission SHARED src/mapped/plugin.cpp)
  target_compile_features(NAME_transmission PRIVATE cxx_std_17)
  target_compile_definitions(NAME_transmission PRIVATE MAPPED_ROBOT="NAME_robot.hpp")
  target_include_directories(NAME_transmission PRIVATE src)
  target_link_libraries(NAME_transmission PRIVATE
    NAME pluginlib::pluginlib transmission_interface::transmission_interface)
  install(TARGETS NAME_transmission LIBRARY DESTINATION lib)
  pluginlib_export_plugin_description_file(transmission_interface NAME_plugins.xml)
elseif(hardware_interface_FOUND)
  message(FATAL_ERROR "NAME: no plugin, transmission_interface was not found: run rosdep install")
endif()
